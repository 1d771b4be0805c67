#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mdadm.sh: build mdadm from Debian testing's source package, for the guest, and
# print the folder: mdadm, and its source with mdadm's own tests in source/.
#
# This machine's mdadm may be older than 4.5, which cannot make an array with
# the lockless bitmap (llbitmap). It is built against this machine's C library,
# without udev, which the guest has not. What is in the cache is used as it is;
# remove ~/.cache/md-percpu/mdadm for a newer version.

# shellcheck source=scripts/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# unpack DSC TO: with Debian's patches; apt has checked the package
unpack()
{
	dpkg-source --no-check --no-copy -x "$1" "$2"
}

# build SOURCE VERSION
build()
{
	make -C "$1" "-j$NCPU" CXFLAGS='-O1 -DNO_LIBUDEV' COROSYNC=-DNO_COROSYNC \
		DLM=-DNO_DLM CHECK_RUN_DIR=0 EXTRAVERSION="Debian $2" mdadm
}

main()
{
	local dir tmp version

	[[ ${1:-} != -h && ${1:-} != --help ]] || { usage; exit; }
	lock mdadm
	dir=$(find "$CACHE" -maxdepth 2 -path "$CACHE/mdadm/*" | sort -V | tail -n 1)
	if [[ -z $dir ]]; then
		need gcc:gcc make:make dpkg-source:dpkg-dev apt-get:apt \
			/usr/include/stdlib.h:libc6-dev
		tmp=$CACHE/mdadm.tmp
		rm -rf "$tmp"
		mkdir -p "$tmp/new"
		apt_own_update testing-src
		apt_own_source testing-src "$tmp" mdadm
		version=$(sed -n 's/^Version: //p' "$tmp"/*.dsc)
		[[ -n $version ]] || die "no version in the source package of mdadm: $(cd "$tmp" && echo *)"
		run_logged "$CACHE/mdadm.log" "unpacking mdadm" unpack "$tmp"/*.dsc "$tmp/new/source"
		log "building mdadm $version"
		run_logged "$CACHE/mdadm.log" "building mdadm $version" build "$tmp/new/source" "$version"
		cp "$tmp/new/source/mdadm" "$tmp/new/"
		dir=$CACHE/mdadm/$version
		mkdir -p "$CACHE/mdadm"
		mv "$tmp/new" "$dir"
		rm -rf "$tmp"
	fi
	echo "$dir"
}

main "$@"
