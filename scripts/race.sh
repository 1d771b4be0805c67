#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# race.sh KERNEL VM: run tests/race/race.sh on modules that are slow in the places that
# tests/race/*.patch name: stock, where that shows the faults, and percpu, where it
# shows none. What they left is in build/KERNEL/VM/race.
#
# PARTS in the environment: "clean dirty", the default; or backout, after which stock
# stands still, so that the guest cannot even power off and is given up: look at its
# console. SETS="percpu:good" leaves stock out.

# shellcheck source=scripts/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# build_slow KERNEL VM SET: the modules, as SET-MODULE.ko in build/KERNEL/VM/race-ko
build_slow()
{
	local dir=$BUILD/$1/$2/race-$3 ko=$BUILD/$1/$2/race-ko m args=()

	rm -rf "$dir"
	cp -r "$BUILD/$1/$3" "$dir"
	patch --quiet --directory="$dir" --strip=3 <"$TOP/tests/race/$3.patch" ||
		die "tests/race/$3.patch does not apply"
	[[ $2 != uml* ]] || args=(ARCH=um)
	run_logged "$dir.log" "building slow $3 modules" \
		make -C "$("$TOP/scripts/kernel.sh" "$1" "$2")/build" "M=$dir" "-j$NCPU" "${args[@]}" \
		md-mod.ko raid1.ko raid10.ko
	mkdir -p "$ko"
	for m in md-mod raid1 raid10; do
		strip --strip-debug -o "$ko/slow-$3-$m.ko" "$dir/$m.ko"
	done
}

main()
{
	local kernel vm sets=${SETS:-stock:bad percpu:good} s files=() file

	[[ ${1:-} != -h && ${1:-} != --help ]] || { usage; exit; }
	kernel=${1:-}
	vm=${2:-}
	kernel_check "$kernel"
	vm_check "$vm"
	unset KDIR
	ksrc_check "$kernel"
	lock "run${BUILD//\//-}"
	build_guest "$kernel" "$vm" patch:patch
	rm -rf "$BUILD/$kernel/$vm/race-ko"
	for s in $sets; do
		build_slow "$kernel" "$vm" "${s%:*}"
	done
	for file in "$BUILD/$kernel/$vm/race-ko"/*.ko; do
		files+=(--file "$file")
	done
	exec "$TOP/scripts/vm.sh" --out "$BUILD/$kernel/$vm/race" "${files[@]}" --set "SETS=$sets" \
		--set "PARTS=${PARTS:-clean dirty}" "$kernel" "$vm" "$TOP/tests/race/race.sh"
}

main "$@"
