#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# bench.sh KERNEL VM: random reads on stock and on percpu, in turn, in one boot.
# From the environment: LEVELS JOBS DEPTH RUNTIME ROUNDS. Prints a Markdown
# table; writes build/bench/{bench,summary,about}.tsv, table.md and bench.svg.

# shellcheck source=scripts/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

plot()
{
	cd "$1" && gnuplot <<-END
		set terminal svg size 720,420 font "sans,13" background "white"
		set output "bench.svg"
		set datafile separator tab
		set style data histogram
		set style histogram errorbars gap 1 lw 1.2
		set style fill solid 0.85 border -1
		set boxwidth 0.9
		set grid ytics lc rgb "#cccccc"
		set yrange [0:*]
		set ylabel "thousand IOPS, median and range of $2 rounds"
		set title "4 KiB random reads over ramdisks ($3)"
		set key outside bottom center horizontal
		set xtics rotate by -30
		plot "summary.tsv" skip 1 using (\$3/1000):(\$4/1000):(\$5/1000):xtic(stringcolumn(1)." ".stringcolumn(2)."j") \
			title "stock" lc rgb "#8c8c8c", \
			"" skip 1 using (\$6/1000):(\$7/1000):(\$8/1000) title "percpu" lc rgb "#2f6fb0"
	END
}

main()
{
	local kernel vm levels=${LEVELS:-raid0 raid1 raid10 raid5} jobs=${JOBS:-1 2}
	local depth=${DEPTH:-128} runtime=${RUNTIME:-2} rounds=${ROUNDS:-5}
	local j n=0 out=$BUILD/bench run cpus=1 rc=0 about

	[[ ${1:-} != -h && ${1:-} != --help ]] || { usage; exit; }
	kernel=${1:-}
	vm=${2:-}
	kernel_check "$kernel"
	vm_check "$vm"
	levels_check "$levels"
	number_check DEPTH "$depth" 1 1024
	number_check RUNTIME "$runtime" 1 600
	number_check ROUNDS "$rounds" 1 1000
	[[ -n ${jobs// /} ]] || die "JOBS is empty: numbers of jobs, such as \"1 2\""
	for j in $jobs; do
		number_check JOBS "$j" 1 8
		((j <= cpus)) || cpus=$j
		n=$((n + 1))
	done
	((cpus <= NCPU)) || warn "$cpus jobs on $NCPU CPUs: the figures will say little"

	unset KDIR
	ksrc_check "$kernel"
	lock "run${BUILD//\//-}"
	build_guest "$kernel" "$vm" gnuplot:gnuplot-nox

	n=$((($(wc -w <<<"$levels") + 1) * n * 2 * rounds))
	log "measuring: $n runs of $runtime s, about $((n * (runtime * 10 + 9) / 600 + 1)) minutes; leave the machine alone"
	run=$BUILD/$kernel/$vm/bench
	"$TOP/scripts/vm.sh" --out "$run" --cpus "$((cpus > 2 ? cpus : 2))" --mem 1536 --pin --show \
		--timeout $((n * (runtime + 10) + 120)) \
		--set "LEVELS=$levels" --set "JOBS=$jobs" --set "DEPTH=$depth" \
		--set "RUNTIME=$runtime" --set "ROUNDS=$rounds" \
		"$kernel" "$vm" "$TOP/tests/bench/randread.sh" || rc=$?
	((rc == 0)) || {
		tail -n 15 "$run/console" >&2
		die "no measurement: $(<"$run/verdict"); the console is in $run/console"
	}

	rm -rf "$out.tmp"
	mkdir -p "$out.tmp"
	cp "$run/results/"{bench,about}.tsv "$out.tmp/"
	printf 'machine\t%s\n' "$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1), $NCPU CPUs, host Linux $(uname -r | cut -d- -f1), $vm guest" >>"$out.tmp/about.tsv"
	printf 'run\t%s\n' "DEPTH=$depth RUNTIME=$runtime ROUNDS=$rounds, $(date -u +%F)" >>"$out.tmp/about.tsv"
	about=$(awk -F'\t' '{ printf "%s%s: %s", (NR > 1 ? "; " : ""), $1, $2 }' "$out.tmp/about.tsv")
	{
		"$TOP/scripts/table.sh" "$out.tmp/bench.tsv" "$out.tmp/summary.tsv"
		printf '\nMedian (min to max) of %s rounds, stock and percpu in turn in one boot; brd is one bare ramdisk, the control. %s.\n' "$rounds" "$about"
	} >"$out.tmp/table.md"
	(plot "$out.tmp" "$rounds" "Linux $(awk -F'\t' '$1 == "kernel" { print $2 }' "$out.tmp/about.tsv"), $vm")
	rm -rf "$out"
	mv "$out.tmp" "$out"
	cat "$out/table.md"
	log "also in ${out#"$TOP"/}: bench.tsv summary.tsv about.tsv table.md bench.svg"
}

main "$@"
