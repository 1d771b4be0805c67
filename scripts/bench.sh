#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# bench.sh KERNEL VM: random reads on stock and on percpu, in turn, in one boot; or
# with RW=resync, check, repair, recovery and reshape; or with RW=fsync, writes that are
# flushed, and stock with the flushes of Linux 6.11 as a third. From the environment: RW LEVELS JOBS DEPTH RUNTIME ROUNDS DBENCH. Prints a
# Markdown table; writes build/bench/{bench,summary,about}.tsv, table.md and bench.svg;
# build/bench-fsync and
# build/bench-resync likewise.

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
		set title "$4 ($3)"
		set key outside bottom center horizontal
		set xtics rotate by -30
		plot "summary.tsv" skip 1 using (\$3/1000):(\$4/1000):(\$5/1000):xtic(stringcolumn(1)." ".stringcolumn(2)."j") \
			title "stock" lc rgb "#8c8c8c", \
			"" skip 1 using (\$6/1000):(\$7/1000):(\$8/1000) title "percpu" lc rgb "#2f6fb0"
	END
}

# tables TSV SUMMARY ROUNDS ABOUT TITLE [BASE...]
tables()
{
	local base

	for base in "${@:6}"; do
		"$TOP/scripts/table.sh" "$1" "${2%.tsv}-$base.tsv" "$base"
		echo
	done
	"$TOP/scripts/table.sh" "$1" "$2"
	printf '\nMedian (min to max) of %s rounds, in turn in one boot; %s. %s.\n' "$3" "$5" "$4"
}

main()
{
	local kernel vm rw=${RW:-randread} levels=${LEVELS:-raid0 raid1 raid10 raid5} jobs
	local depth=${DEPTH:-128} runtime=${RUNTIME:-2} rounds=${ROUNDS:-5} dbench=${DBENCH:-5}
	local j n=0 out=$BUILD/bench run cpus=1 rc=0 about max=8 title note base=() extra=() seconds

	[[ ${1:-} != -h && ${1:-} != --help ]] || { usage; exit; }
	kernel=${1:-}
	vm=${2:-}
	kernel_check "$kernel"
	vm_check "$vm"
	levels_check "$levels"
	number_check DEPTH "$depth" 1 1024
	number_check RUNTIME "$runtime" 1 600
	number_check ROUNDS "$rounds" 1 1000
	number_check DBENCH "$dbench" 0 600
	case $rw in
	randread)
		jobs=${JOBS:-1 2}
		title="4 KiB random reads over ramdisks"
		note="brd is one bare ramdisk, the control"
		;;
	fsync)
		jobs=${JOBS:-1 16 128}
		max=1024 out=$BUILD/bench-fsync base=(alone serial)
		title="4 KiB writes with fsync, flush 100 us"
		note="a write and an fsync count as one; serial is stock with one flush at a time for the array, alone one for each bio; dbench-s in MB/s"
		;;
	resync)
		levels=${LEVELS:-raid1 raid10} jobs=1 out=$BUILD/bench-resync
		for j in $levels; do
			[[ $j == raid1 || $j == raid10 ]] || die "RW=resync: LEVELS are of: raid1 raid10"
		done
		title="check, repair, recovery, reshape"
		note="MB/s by themselves (0 jobs) and beside one job of random I/O; -io: the IOPS of that job"
		;;
	*) die "RW=$rw is not one of: randread resync fsync" ;;
	esac
	[[ -n ${jobs// /} ]] || die "JOBS is empty: numbers of jobs, such as \"1 2\""
	for j in $jobs; do
		number_check JOBS "$j" 1 $max
		((j <= cpus || max > 8)) || cpus=$j
		n=$((n + 1))
	done
	((cpus <= NCPU)) || warn "$cpus jobs on $NCPU CPUs: the figures will say little"

	unset KDIR
	ksrc_check "$kernel"
	lock "run${BUILD//\//-}"
	if [[ $rw == fsync ]]; then
		build_guest "$kernel" "$vm" gnuplot:gnuplot-nox patch:patch
		extra=(--file "$(build_patched "$kernel" "$vm" stock "$TOP/tests/bench/one-at-a-time.patch")/md-mod.ko"
			--file /usr/share/dbench/client.txt --set "DBENCH=$dbench" --mem 8192)
		n=$(($(wc -w <<<"$levels") * n * 4 * rounds))
		seconds=$((n * (runtime + 2) + 4 * rounds * (dbench + 10)))
	elif [[ $rw == resync ]]; then
		build_guest "$kernel" "$vm" gnuplot:gnuplot-nox
		# The disks are in memory: half of what there is, and they take a while.
		extra=(--mem "$(awk '/^MemAvailable:/ { mb = int($2 / 2048); print (mb > 12288 ? 12288 : mb) }' /proc/meminfo)")
		n=$(($(wc -w <<<"$levels") * 8 * 2 * rounds))
		seconds=$((n * (runtime + 2)))
	else
		build_guest "$kernel" "$vm" gnuplot:gnuplot-nox
		extra=(--mem 1536 --pin)
		n=$((($(wc -w <<<"$levels") + 1) * n * 2 * rounds))
		seconds=$((n * (runtime * 10 + 9) / 10))
	fi

	log "measuring: $n runs of $runtime s, about $((seconds / 60 + 1)) minutes; leave the machine alone"
	run=$BUILD/$kernel/$vm/bench
	"$TOP/scripts/vm.sh" --out "$run" --cpus "$((cpus > 2 ? cpus : 2))" --show \
		--timeout $((seconds * 3 + n * 8 + 120)) "${extra[@]}" \
		--set "LEVELS=$levels" --set "JOBS=$jobs" --set "DEPTH=$depth" \
		--set "RUNTIME=$runtime" --set "ROUNDS=$rounds" \
		"$kernel" "$vm" "$TOP/tests/bench/$rw.sh" || rc=$?
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
	tables "$out.tmp/bench.tsv" "$out.tmp/summary.tsv" "$rounds" "$about" "$note" "${base[@]}" >"$out.tmp/table.md"
	(plot "$out.tmp" "$rounds" "Linux $(awk -F'\t' '$1 == "kernel" { print $2 }' "$out.tmp/about.tsv"), $vm" "$title")
	rm -rf "$out"
	mv "$out.tmp" "$out"
	cat "$out/table.md"
	log "also in ${out#"$TOP"/}: bench.tsv summary.tsv about.tsv table.md bench.svg"
}

main "$@"
