#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# race.sh KERNEL VM: run tests/race/race.sh on modules that are slow in the places that
# tests/race/*.patch name: stock, where that shows the faults, and percpu, where it
# shows none. What they left is in build/KERNEL/VM/race.
#
# PARTS in the environment: "clean dirty", the default; or backout, after which stock
# stands still, so that the guest cannot even power off and is given up; or removal, in
# which it panics; or workers, of which KASAN complains (VM uml-debug): look at the
# console. SETS="percpu:good" leaves stock out.

# shellcheck source=scripts/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

main()
{
	local kernel vm sets=${SETS:-stock:bad percpu:good} s dir ko m files=()

	[[ ${1:-} != -h && ${1:-} != --help ]] || { usage; exit; }
	kernel=${1:-}
	vm=${2:-}
	kernel_check "$kernel"
	vm_check "$vm"
	unset KDIR
	ksrc_check "$kernel"
	lock "run${BUILD//\//-}"
	build_guest "$kernel" "$vm" patch:patch
	ko=$BUILD/$kernel/$vm/race-ko
	rm -rf "$ko"
	mkdir "$ko"
	for s in $sets; do
		dir=$(build_patched "$kernel" "$vm" "${s%:*}" "$TOP/tests/race/${s%:*}.patch")
		for m in md-mod raid1 raid10 raid456; do
			ln "$dir/$m.ko" "$ko/slow-${s%:*}-$m.ko"
			files+=(--file "$ko/slow-${s%:*}-$m.ko")
		done
	done
	exec "$TOP/scripts/vm.sh" --out "$BUILD/$kernel/$vm/race" "${files[@]}" --set "SETS=$sets" \
		--set "PARTS=${PARTS:-clean dirty}" "$kernel" "$vm" "$TOP/tests/race/race.sh"
}

main "$@"
