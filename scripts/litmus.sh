#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# litmus.sh KERNEL: run tests/litmus/*.litmus under the kernel's memory model
# with herd7, and compare with the "Result:" that each file states. A letter in
# a comment of drivers/md/md-*.c names its file after "tests/litmus:".
#
# herd7 is taken from Debian testing, with the libraries that it wants, into the
# cache: this machine may be older. Prints TAP; exit status 1 if one differs.

# shellcheck source=scripts/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# herd_root: herdtools7 and its libraries, unpacked
herd_root()
{
	local root=$CACHE/herd tmp=$CACHE/herd.tmp deb

	if [[ ! -e $root/.done ]]; then
		rm -rf "$root" "$tmp"
		need dpkg-deb:dpkg apt-get:apt
		apt_own_update testing
		apt_own_download testing "$tmp" herdtools7 libc6 libgmp10
		for deb in "$tmp"/*.deb; do
			dpkg-deb -x "$deb" "$root"
		done
		rm -rf "$tmp"
		touch "$root/.done"
	fi
	echo "$root"
}

main()
{
	local kernel root src lib file want got n=0 rc=0 files name text

	[[ ${1:-} != -h && ${1:-} != --help ]] || { usage; exit; }
	kernel=${1:-}
	kernel_check "$kernel"
	src=$("$TOP/scripts/fetch.sh" "$kernel")
	lock herd
	root=$(herd_root)
	lib=$root/usr/lib/x86_64-linux-gnu
	files=("$TOP"/tests/litmus/*.litmus)
	echo "TAP version 13"
	echo "1..$((${#files[@]} + 1))"
	for file in "${files[@]}"; do
		n=$((n + 1))
		want=$(sed -n 's/^ \* Result: //p' "$file")
		got=$(cd "$src/tools/memory-model" && timeout 300 "$lib/ld-linux-x86-64.so.2" \
			--library-path "$lib" "$root/usr/bin/herd7" \
			-set-libdir "$root/usr/share/herdtools7/herd" \
			-conf linux-kernel.cfg "$file" 2>&1) || true
		text=$got
		got=$(awk '$1 == "Observation" { print $3 }' <<<"$got")
		if [[ -n $want && $got == "$want" ]]; then
			echo "ok $n - ${file##*/}: $got"
		else
			echo "not ok $n - ${file##*/}: ${got:-nothing}, but ${want:-no Result: line}"
			[[ -n $got ]] || tail -n 3 <<<"$text"
			rc=1
		fi
	done

	# What the code names must be there, and the table must name what is there.
	n=$((n + 1))
	for name in $(grep -rhoE 'tests/litmus: [a-z0-9, -]+' "$TOP/drivers" "$TOP/patches" |
		sed 's/.*: //' | tr -d ',' | xargs -n 1 | sort -u); do
		[[ -e $TOP/tests/litmus/$name.litmus ]] || {
			echo "# the code names $name, which is not in tests/litmus"
			rc=1
			want=missing
		}
	done
	for file in "${files[@]}"; do
		name=${file##*/}
		name=${name%.litmus}
		grep -qE "(^| )$name(,| )" "$TOP/tests/litmus/README.md" || {
			echo "# tests/litmus/README.md does not name $name"
			rc=1
			want=missing
		}
	done
	[[ $want == missing ]] && echo -n "not "
	echo "ok $n - the litmus files that the code and the table name are those that exist"
	exit "$rc"
}

main "$@"
