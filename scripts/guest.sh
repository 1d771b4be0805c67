#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# guest.sh KERNEL VM: make the guest's initramfs in build/KERNEL/VM/guest.cpio:
# init, this machine's busybox, fio and so on, the mdadm of mdadm.sh, their
# libraries, and for stock and percpu each a tree of the test kernel's modules
# with that md set.

# shellcheck source=scripts/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

TOOLS=(busybox fio dmsetup lvm mkfs.ext4 e2fsck debugfs mkfs.xfs xfs_repair dbench)

# copy_tools ROOT MDADM: the programs, and the libraries that they load
copy_tools()
{
	local tool path lib

	mkdir -p "$1"/{bin,sbin,dev,proc,sys,tmp,run/mdadm,etc,mnt,results,job,lib/modules}
	for tool in "$2" "${TOOLS[@]}"; do
		path=$(PATH=$PATH:/usr/sbin:/sbin command -v "$tool")
		cp -L "$path" "$1/bin/"
		for lib in $(ldd "$path" 2>/dev/null | grep -oE '/[^ ]+\.so[^ ]*' || true); do
			[[ -e $1$lib ]] || install -D "$lib" "$1$lib"
		done
	done
	ln -sf busybox "$1/bin/sh"
	# The kernel looks for it here when it wants a personality loaded.
	ln -sf ../bin/busybox "$1/sbin/modprobe"
}

# copy_modules ROOT KERNEL-FOLDER SET VARIANT
copy_modules()
{
	local release to

	release=$(<"$2/build/include/config/kernel.release")
	to=$1/md/$4/lib/modules/$release
	mkdir -p "$to/md"
	cp -r "$2/root/lib/modules/$release"/{kernel,modules.builtin,modules.builtin.modinfo,modules.order} "$to/"
	# The test kernel's own md modules are left out: there is one set a tree.
	find "$to/kernel/drivers/md" \( -name 'md-*.ko' -o -name 'raid*.ko' -o \
		-name 'linear.ko' -o -name 'dm-raid.ko' \) -delete
	find "$3/$4" -name '*.ko' -exec cp {} "$to/md/" \;
	find "$to" -name '*.ko' -exec strip --strip-debug {} +
	PATH=$PATH:/usr/sbin:/sbin depmod --basedir "$1/md/$4" "$release"
}

main()
{
	local kernel vm kdir set root variant out mdadm

	[[ ${1:-} != -h && ${1:-} != --help ]] || { usage; exit; }
	kernel=${1:-}
	vm=${2:-}
	kernel_check "$kernel"
	vm_check "$vm"
	# shellcheck disable=SC2046 # words
	need $(need_vm "$vm")
	kdir=$("$TOP/scripts/kernel.sh" "$kernel" "$vm")
	mdadm=$("$TOP/scripts/mdadm.sh")/mdadm
	set=$BUILD/$kernel/$vm
	out=$set/guest.cpio
	lock "guest-${BUILD//\//-}"
	if [[ -e $out && -z $(find "$set/stock" "$set/percpu" "$TOP/tests/guest" "$kdir/.done" \
		"$mdadm" "$TOP/scripts/guest.sh" /var/lib/dpkg/status -newer "$out" \( -name '*.ko' -o -path "$TOP/[st]*" \
		-o -name .done -o -name mdadm -o -name status \) -print -quit) ]]; then
		echo "$out"
		return
	fi
	root=$(mktemp -d "$set/guest.XXXXXX")
	# shellcheck disable=SC2064 # now, not then
	trap "rm -rf '$root'" EXIT
	chmod 755 "$root"
	copy_tools "$root" "$mdadm"
	for variant in stock percpu; do
		copy_modules "$root" "$kdir" "$set" "$variant"
	done
	cp "$TOP"/tests/guest/* "$root/"
	chmod 755 "$root/init"
	(cd "$root" && find . | cpio --quiet -o -H newc -R 0:0) >"$out.tmp"
	mv "$out.tmp" "$out"
	echo "$out"
}

main "$@"
