#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# table.sh BENCH.TSV SUMMARY.TSV [BASE]: print bench.tsv as a Markdown table, and
# write the same figures to summary.tsv: percpu beside BASE (stock). Columns of
# bench.tsv: round, level, variant, jobs, IOPS. The ratio is taken round by round,
# its median and range shown.

# shellcheck source=scripts/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

main()
{
	[[ ${1:-} != -h && ${1:-} != --help ]] || { usage; exit; }
	[[ -s ${1:-} && -n ${2:-} ]] || die "wants a bench.tsv that is not empty, and the name of a summary.tsv"
	awk -F'\t' -v summary="$2" -v base="${3:-stock}" '
	# sort v[1..n] in place, by insertion: n is a handful
	function sort(v, n,    i, j, x) {
		for (i = 2; i <= n; i++) {
			x = v[i]
			for (j = i - 1; j && v[j] > x; j--)
				v[j + 1] = v[j]
			v[j + 1] = x
		}
	}
	function median(v, n) {
		return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
	}
	# the values of one row: median, min, max into the globals
	function spread(k, what,    r, n, v) {
		n = 0
		for (r = 1; r <= rounds; r++) {
			if (what == "ratio") {
				if (iops[k, base, r] && iops[k, "percpu", r])
					v[++n] = iops[k, "percpu", r] / iops[k, base, r]
			} else if (iops[k, what, r])
				v[++n] = iops[k, what, r]
		}
		sort(v, n)
		med = median(v, n); lo = v[1]; hi = v[n]
	}
	{
		k = $2 SUBSEP $4
		if (!(k in seen)) { seen[k]; row[++rows] = k }
		iops[k, $3, $1] = $5
		if ($1 > rounds) rounds = $1
	}
	END {
		printf "| level | jobs | %s, k IOPS | percpu, k IOPS | percpu / %s |\n", base, base
		print "| --- | --- | --- | --- | --- |"
		print "level\tjobs\t" base "\t" base "_min\t" base "_max\tpercpu\tpercpu_min\tpercpu_max\tratio\tratio_min\tratio_max" >summary
		for (i = 1; i <= rows; i++) {
			split(row[i], part, SUBSEP)
			printf "| %s | %s |", part[1], part[2]
			printf "%s\t%s", part[1], part[2] >summary
			for (n = 1; n <= 2; n++) {
				spread(row[i], n == 1 ? base : "percpu")
				f = med < 20000 ? "%.1f" : "%.0f"
				printf " " f " (" f " to " f ") |", med / 1000, lo / 1000, hi / 1000
				printf "\t%d\t%d\t%d", med, lo, hi >summary
			}
			spread(row[i], "ratio")
			printf " %.2f (%.2f to %.2f) |\n", med, lo, hi
			printf "\t%.4f\t%.4f\t%.4f\n", med, lo, hi >summary
		}
	}' "$1"
}

main "$@"
