#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# modules.sh KERNEL VM: build both module sets, stock and percpu, against the
# test kernel for VM, into build/KERNEL/VM/{stock,percpu}.
#
# With KDIR= in the environment, VM is host: against that kernel's build folder,
# such as /lib/modules/$(uname -r)/build, and from the source named by KSRC=.

# shellcheck source=scripts/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# check_kdir KDIR KERNEL: a kernel that modules can be built against, with md as one
check_kdir()
{
	local release option

	release=$(cat "$1/include/config/kernel.release" 2>/dev/null) ||
		die "KDIR=$1 is not the build folder of a kernel (there is no include/config/kernel.release)"
	[[ $release == "$2".* || $release == "$2" || $release == "$2"[+-]* ]] ||
		die "KDIR=$1 is for Linux $release, but KERNEL=$2 is wanted"
	[[ -s $1/Module.symvers ]] ||
		die "KDIR=$1 has no Module.symvers: build that kernel with its modules first"
	grep -qx CONFIG_BLK_DEV_MD=m "$1/.config" "$1/include/config/auto.conf" 2>/dev/null ||
		die "the kernel of KDIR=$1 does not have CONFIG_BLK_DEV_MD=m: md cannot be replaced there"
	for option in MD_RAID0 MD_RAID1 MD_RAID10 MD_RAID456 DM_RAID; do
		! grep -qxh "CONFIG_$option=y" "$1/include/config/auto.conf" 2>/dev/null ||
			die "the kernel of KDIR=$1 has CONFIG_$option=y: it must be a module to be replaced"
	done
	if ! grep -qx CONFIG_MODVERSIONS=y "$1/include/config/auto.conf" 2>/dev/null; then
		warn "the kernel of KDIR=$1 has no MODVERSIONS"
	fi
}

# build_set PREPARED OUT KDIR [MAKE-ARGUMENT...]
build_set()
{
	local from=$1 out=$2 kdir=$3

	shift 3
	mkdir -p "$out"
	# Links, so that one prepared folder serves every kernel. Gone files go.
	find "$out" -type l ! -exec test -e {} \; -delete
	find "$out" -name '*.ko' -delete
	cp -rsf "$from"/. "$out"
	run_logged "$out.log" "building ${out#"$BUILD"/}" \
		make -C "$kdir" "M=$out" "-j$NCPU" "$@" modules
	[[ -e $out/md-mod.ko ]] || die "no md-mod.ko came out; the log is $out.log"
}

main()
{
	local kernel vm kdir dir variant args=()

	[[ ${1:-} != -h && ${1:-} != --help ]] || { usage; exit; }
	kernel=${1:-}
	vm=${2:-}
	kernel_check "$kernel"
	need "${NEED_BUILD[@]}"
	if [[ -n ${KDIR:-} ]]; then
		vm=host
		kdir=$(realpath -e -- "$KDIR" 2>/dev/null) || die "KDIR=$KDIR does not exist"
		check_kdir "$kdir" "$kernel"
		! grep -qx CONFIG_UML=y "$kdir/include/config/auto.conf" || args=(ARCH=um)
		[[ -n ${KSRC:-} ]] ||
			warn "drivers/md comes from Debian's source of Linux $kernel; if the kernel of KDIR= is not Debian's, name its source with KSRC="
	else
		vm_check "$vm"
		kdir=$("$TOP/scripts/kernel.sh" "$kernel" "$vm")/build
		[[ $vm != uml* ]] || args=(ARCH=um)
	fi
	dir=$("$TOP/scripts/prepare.sh" "$kernel")
	lock "modules-${BUILD//\//-}"
	for variant in stock percpu; do
		log "building the $variant modules for $vm"
		build_set "$dir/$variant" "$dir/$vm/$variant" "$kdir" "${args[@]}"
	done
	echo "$dir/$vm"
}

main "$@"
