#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# prepare.sh KERNEL: lay out build/KERNEL/stock, the kernel's own drivers/md, and
# build/KERNEL/percpu, the same with our files and patches. What has not changed
# keeps its time stamp. With KSRC= in the environment: from that tree.

# shellcheck source=scripts/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

main()
{
	local kernel src dir tmp patch files f

	[[ ${1:-} != -h && ${1:-} != --help ]] || { usage; exit; }
	kernel=${1:-}
	kernel_check "$kernel"
	need git:git
	[[ -s $TOP/patches/$kernel/series ]] || die "there is no patches/$kernel/series"
	src=$("$TOP/scripts/fetch.sh" "$kernel")
	dir=$BUILD/$kernel
	mkdir -p "$dir"
	tmp=$(mktemp -d "$dir/prepare.XXXXXX")
	# shellcheck disable=SC2064 # now, not then
	trap "rm -rf '$tmp'" EXIT

	mkdir -p "$tmp/stock" "$tmp/tree/drivers/md" "$tmp/tree/include/trace/events"
	cp "$src"/drivers/md/*.[ch] "$src"/drivers/md/{Makefile,Kconfig} "$tmp/stock/"
	cp "$tmp"/stock/* "$tmp/tree/drivers/md/"
	cp "$src/MAINTAINERS" "$tmp/tree/"
	cp "$TOP/Kbuild" "$tmp/stock/"
	while read -r patch files; do
		[[ -f $TOP/patches/$kernel/$patch ]] ||
			die "patches/$kernel/series names $patch, which is not there"
		if grep -q '^diff --git' "$TOP/patches/$kernel/$patch"; then
			GIT_CEILING_DIRECTORIES=$tmp git -C "$tmp/tree" apply "$TOP/patches/$kernel/$patch" ||
				die "patches/$kernel/$patch does not apply to drivers/md of $src"
		fi
		for f in $files; do
			mkdir -p "$tmp/tree/${f%/*}"
			cp "$TOP/$f" "$tmp/tree/$f" || die "patches/$kernel/series names $f, which is not there"
		done
	done < <(awk '!/^#/ && NF' "$TOP/patches/$kernel/series")
	mv "$tmp/tree/drivers/md" "$tmp/percpu"
	mv "$tmp/tree/include" "$tmp/percpu/include"
	cp "$TOP/Kbuild" "$TOP/include/md-set.h" "$tmp/percpu/"

	sync_tree "$tmp/stock" "$dir/stock"
	sync_tree "$tmp/percpu" "$dir/percpu"
	echo "$dir"
}

main "$@"
