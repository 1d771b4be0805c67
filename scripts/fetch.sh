#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# fetch.sh [--update] KERNEL: fetch and unpack the kernel's source package, and
# print the folder. With KSRC= in the environment: check that tree instead.
# What is in the cache is used as it is; --update looks for a newer version.

# shellcheck source=scripts/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# check_tree TREE KERNEL WHO: a Linux source tree of that version
check_tree()
{
	local have

	[[ -f $1/Makefile && -d $1/drivers/md && -f $1/Kconfig ]] ||
		die "$3=$1 is not a Linux source tree"
	have=$(sed -nE 's/^(VERSION|PATCHLEVEL) = ([0-9]+)$/\2/p' "$1/Makefile" | paste -sd.)
	[[ $have == "$2" ]] ||
		die "$3=$1 is Linux ${have:-of unknown version}, but KERNEL=$2 is wanted"
}

newest()
{
	find "$CACHE/src" -maxdepth 2 -path "*/linux-source-$1_*/linux" |
		sort -V | tail -n 1
}

unpack()
{
	# Not needed here: a third of the tree's files and half of its bytes.
	dpkg-deb --fsys-tarfile "$1" | tar -xO --wildcards "./usr/src/*.tar.xz" |
		xz -dc -T0 | tar -x -C "$2" --strip-components=1 \
		--wildcards --exclude='*/Documentation/devicetree/bindings/*.yaml' \
		--exclude='*/drivers/gpu/*.[ch]' --exclude='*/drivers/net/*.[ch]' \
		--exclude='*/sound/*.[ch]' --exclude='*/drivers/media/*.[ch]' \
		--exclude='*/arch/arm*/*.dts*' --exclude='*/tools/testing/selftests/*/*'
}

main()
{
	local update='' kernel pkg suites version dir tmp debs

	case ${1:-} in
	-h | --help) usage; exit ;;
	--update) update=1; shift ;;
	esac
	kernel=${1:-}
	kernel_check "$kernel"

	if [[ -n ${KSRC:-} ]]; then
		dir=$(realpath -e -- "$KSRC" 2>/dev/null) || die "KSRC=$KSRC does not exist"
		check_tree "$dir" "$kernel" KSRC
		echo "$dir"
		return
	fi

	pkg=$(kernel_field "$kernel" 2)
	suites=$(kernel_field "$kernel" 3 | tr , ' ')
	lock fetch
	mkdir -p "$CACHE/src"
	dir=$(newest "$kernel")
	if [[ -n $dir && -z $update ]]; then
		echo "$dir"
		return
	fi

	need dpkg-deb:dpkg apt-get:apt xz:xz-utils \
		/usr/share/keyrings/debian-archive-keyring.gpg:debian-archive-keyring
	apt_own_update "$suites"
	version=$(apt_own_version "$suites" "$pkg")
	[[ -n $version && $version != "(none)" ]] ||
		die "$pkg is not in: $suites (at $(mirror))"
	dir=$CACHE/src/linux-source-${kernel}_$version/linux
	if [[ ! -d $dir ]]; then
		tmp=$CACHE/src/.tmp
		rm -rf "$tmp"
		# shellcheck disable=SC2064 # now, not then
		trap "rm -rf '$tmp'" EXIT
		apt_own_download "$suites" "$tmp/deb" "$pkg=$version"
		debs=("$tmp"/deb/*.deb)
		mkdir -p "$tmp/linux" "${dir%/*}"
		log "unpacking $pkg $version"
		run_logged "$CACHE/src/unpack.log" "unpacking ${debs[0]##*/}" unpack "${debs[0]}" "$tmp/linux"
		check_tree "$tmp/linux" "$kernel" "$pkg"
		mv "$tmp/linux" "$dir"
		rm -rf "$tmp"
	fi
	echo "$dir"
}

main "$@"
