#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# members.sh DIR: the meter names the structure member that a store writes, in
# the modules of DIR (a stock set), where the source tells what it must be.
# No guest. Prints TAP; exit status 1 if one is wrong.

# shellcheck source=scripts/lib.sh
. "${BASH_SOURCE[0]%/*}/../../scripts/lib.sh"

# Module, function, a word of the source lines meant, and what each of their stores
# must be named: "?" where the place is computed, and a name would be a guess.
WANT='
raid456 raid5_align_endio active_aligned_reads r5conf.active_aligned_reads
raid456 raid5_align_endio nr_pending md_rdev.nr_pending
raid10 raid10_end_read_request head_position raid10_info.head_position
raid10 raid10_end_read_request nr_pending md_rdev.nr_pending
raid10 raid_end_bio_io nr_pending r10conf.nr_pending
raid1 raid1_end_read_request head_position raid1_info.head_position
raid1 raid1_end_read_request nr_pending md_rdev.nr_pending
raid1 raid1_end_read_request R1BIO_Uptodate r1bio.state
raid1 raid1_make_request rdev->nr_pending md_rdev.nr_pending
raid1 raid1_read_request ->seq_start raid1_info.seq_start
raid1 raid_end_bio_io nr_pending[idx] ?
'

main()
{
	local module function word want got stores n=0 rc=0

	[[ ${1:-} != -h && ${1:-} != --help ]] || { usage; exit; }
	[[ -e ${1:-}/md-mod.ko ]] || die "DIR=${1:-} has no md-mod.ko"
	need python3:python3 objdump:binutils pahole:dwarves
	stores=$(for module in raid456 raid10 raid1; do
		# shellcheck disable=SC2046 # words
		"$TOP/scripts/c2c-report.py" --members "$1" "$module" \
			$(awk -v m="$module" '$1 == m { print $2 }' <<<"$WANT" | sort -u)
	done)
	echo "TAP version 13"
	echo "1..$(grep -c . <<<"$WANT")"
	while read -r module function word want; do
		n=$((n + 1))
		got=$(grep "^$module $function " <<<"$stores" | grep -F -- "$word" |
			awk '{ print $3 }' | sort -u | xargs) || true
		if [[ $got == "$want" ]]; then
			echo "ok $n - member: $module: $function: $word is $got"
		else
			echo "not ok $n - member: $module: $function: $word is '$got', but '$want' was expected"
			rc=1
		fi
	done < <(grep . <<<"$WANT")
	exit "$rc"
}

main "$@"
