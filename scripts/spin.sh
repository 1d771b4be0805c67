#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# spin.sh [--quick]: search all states of tests/model/*.pml with spin. Then again with each
# of the words defined that the file lists as faults, where an error must be
# found, of the kind that it says: "assert", or "end" for an invalid end state.
# With --quick, the first search is of less: QUICK is defined. Prints TAP; exit
# status 1 if one differs. About 5 GB of memory, 3 minutes; 3 GB and 1 if quick.

# shellcheck source=scripts/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# search FILE FAULT QUICK: into FAULT.out, what spin finds; FAULT may be "none"
search()
{
	local depth=20000000 quick=$3

	# An error is found early; a deep stack costs time to set up.
	[[ $2 == none ]] || depth=1000000 quick=
	mkdir -p "$2"
	cd "$2"
	{
		spin -a -D"$2" ${quick:+-DQUICK} "$1" && gcc -O2 -w -DSAFETY -DCOLLAPSE -o pan pan.c &&
			timeout 900 ./pan -m"$depth" -w26
	} >"../$2.out" 2>&1 || true
}

# verdict FAULT: what came of it, in words
verdict()
{
	local states errors

	errors=$(sed -n 's/.*errors: \([0-9]*\)$/\1/p' "$1.out")
	states=$(awk '/states, stored$/ { print $1 }' "$1.out")
	if [[ -z $errors ]]; then
		echo "no end: $(tail -n 1 "$1.out")"
	elif [[ $errors != 0 ]]; then
		sed -n 's/^pan:1: \(.*\) (at depth.*/\1/p' "$1.out"
	elif grep -q 'max search depth too small' "$1.out"; then
		echo "not all: too deep"
	else
		echo "no error in $states states"
	fi
}

main()
{
	local file faults fault got want n=0 rc=0 dir=$BUILD/spin quick=

	case ${1:-} in
	"") ;;
	--quick) quick=yes ;;
	-h | --help) usage; exit ;;
	*) die "$1: not known; --quick is" ;;
	esac
	need spin:spin gcc:gcc /usr/include/stdlib.h:libc6-dev
	echo "TAP version 13"
	for file in "$TOP"/tests/model/*.pml; do
		mapfile -t faults < <(sed -n 's/^ \*\t\([A-Z_]*\)\t*\(assert\|end\)\t.*/\1/p' "$file")
		((${#faults[@]} > 0)) || die "${file#"$TOP"/} lists no faults"
		rm -rf "$dir"
		mkdir -p "$dir"
		cd "$dir"
		for fault in none "${faults[@]}"; do
			(search "$file" "$fault" "$quick") &
			# Two at a time: each wants memory.
			while (($(jobs -rp | wc -l) > 1)); do
				wait -n || true
			done
		done
		wait
		for fault in none "${faults[@]}"; do
			n=$((n + 1))
			got=$(verdict "$fault")
			want=$(sed -n "s/^ \*\t$fault\t*\(assert\|end\)\t.*/\1/p" "$file")
			case ${want:-none}:$got in
			none:"no error in "* | assert:"assertion violated"* | end:"invalid end state"*) ;;
			*)
				echo -n "not "
				rc=1
				;;
			esac
			echo "ok $n - ${file##*/}, fault $fault: $got"
		done
		cd "$TOP"
		rm -rf "$dir"
	done
	echo "1..$n"
	exit "$rc"
}

main "$@"
