#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# c2c.sh KERNEL [control]: count the stores and loads to cache lines that all
# vCPUs write, and the instructions, per I/O, of stock and percpu, by function.
#
# From the environment: LEVELS, RW (of randread randwrite fsync), BITMAP (of none
# internal llbitmap; raid0 has none), VARIANTS, all lists, VCPUS, IOS (in a
# window). For each combination there is a window in one boot of the x86 test
# kernel in QEMU, with a plugin that counts; how, and what is told apart as noise,
# is at the top of scripts/c2c-report.py, and the state of a bitmap at that of
# tests/c2c/run.sh. Writes build/c2c/{summary,functions,lines}.tsv, table.md,
# c2c.svg. For random reads alone, without a bitmap, a model (scripts/model.py)
# then draws IOPS for 1 to 128 CPUs from the counts and the time of a line's
# transfer, measured here: line.tsv, model.tsv, model.svg.
#
# With "control": only the controls, as TAP; exit status 1 if one is wrong.

# shellcheck source=scripts/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# build_plugin: for the plugin interface that this QEMU has
build_plugin()
{
	local version

	for version in 1 2 3 4 5 6 7 8; do
		gcc -O2 -Wall -Wextra -fPIC -shared -DPLUGIN_VERSION=$version \
			-o "$WORK/c2c.so" "$TOP/tests/c2c/plugin.c" || return
		# It says no at once, or waits for a machine that never starts.
		timeout 20 qemu-system-x86_64 -machine none -display none -monitor stdio \
			-plugin "$WORK/c2c.so,out=/dev/null" <<<quit &&
			return 0
	done
	echo "no version of the plugin interface fits $(qemu-system-x86_64 --version | head -n 1)"
	return 1
}

build_control()
{
	mkdir -p "$WORK/control"
	cp "$TOP"/tests/c2c/control/* "$WORK/control/"
	make -C "$KDIR/build" "M=$WORK/control" modules
}

# count WINDOW...: one boot; what was counted into WORK/WINDOW
count()
{
	local out=$WORK/guest files=(--file "$WORK/job") rc=0 n=0 window

	[[ $1 != *-control-* ]] || files+=(--file "$WORK/control/c2c_control.ko")
	"$TOP/scripts/vm.sh" --out "$out" --cpus "$VCPUS" --mem 1536 --show \
		--timeout $((300 + $# * (60 + IOS / 50))) \
		--plugin "$WORK/c2c.so,out=$WORK/counts" "${files[@]}" \
		--set "WINDOWS=$*" --set "IOS=$IOS" \
		"$KERNEL" qemu "$TOP/tests/c2c/run.sh" || rc=$?
	((rc == 0)) || {
		tail -n 10 "$out/console" >&2
		die "$(<"$out/verdict"); the console is in $out/console"
	}
	for window; do
		n=$((n + 1))
		mv "$out/results/$window" "$WORK/$window"
		mv "$WORK/counts.$n" "$WORK/$window/counts"
	done
}

# model DIR: print a curve from the counts in DIR and the time of a transfer, measured now
model()
{
	log "measuring what a contended line costs here: a few seconds"
	run_logged "$WORK/line.log" "building line" \
		gcc -O2 -Wall -pthread -o "$WORK/line" "$TOP/tests/bench/line.c"
	"$WORK/line" >"$1/line.tsv" || warn "this machine is too busy: the curve of its own transfer time is left out"
	"$TOP/scripts/model.py" --line "$1/line.tsv" "$1"
}

control()
{
	local name n=0 bad=0 want got

	echo "TAP version 13"
	echo "1..4"
	count {shared,percpu,false,flag}-control-randread-none
	for name in shared:1 percpu:0 false:1 flag:0; do
		want=${name#*:}
		name=${name%:*}
		n=$((n + 1))
		got=$("$TOP/scripts/c2c-report.py" --only-shared "$WORK/$name-control-randread-none" c2c_control)
		if awk -v g="$got" -v w="$want" 'BEGIN { exit !(g > w - 0.02 && g < w + 0.02) }'; then
			echo "ok $n - c2c: $name: $got stores to shared lines per I/O"
		else
			echo "not ok $n - c2c: $name: $got stores to shared lines per I/O, but $want were made"
			bad=1
		fi
	done
	return $bad
}

# state: of the bitmaps, for the words below the table
state()
{
	[[ $BITMAP == none || $RW == randread ]] ||
		echo "bitmaps with every bit dirty before and after, their daemon put off; "
}

# words_check NAME "VALUES" "ALLOWED": one or more of them
words_check()
{
	local w

	[[ -n ${2// /} ]] || die "$1 is empty: name some of $3"
	for w in $2; do
		[[ " $3 " == *" $w "* ]] || die "$1: $w is not one of: $3"
	done
}

main()
{
	local rw level bitmap variant window windows=()

	[[ ${1:-} != -h && ${1:-} != --help ]] || { usage; exit; }
	KERNEL=${1:-}
	kernel_check "$KERNEL"
	LEVELS=${LEVELS:-raid0 raid1 raid10 raid5} RW=${RW:-randread} VCPUS=${VCPUS:-4}
	IOS=${IOS:-20000} VARIANTS=${VARIANTS:-stock percpu} BITMAP=${BITMAP:-none}
	[[ ${2:-} != control ]] || { RW=randread VCPUS=4 IOS=8000; }
	levels_check "$LEVELS"
	number_check VCPUS "$VCPUS" 2 8
	number_check IOS "$IOS" 1000 10000000
	words_check RW "$RW" "randread randwrite fsync"
	words_check BITMAP "$BITMAP" "none internal llbitmap"
	words_check VARIANTS "$VARIANTS" "stock percpu"

	unset KDIR
	ksrc_check "$KERNEL"
	build_guest "$KERNEL" qemu gnuplot:gnuplot-nox objdump:binutils pahole:dwarves
	KDIR=$("$TOP/scripts/kernel.sh" "$KERNEL" qemu)
	WORK=$BUILD/$KERNEL/qemu/c2c
	rm -rf "$WORK"
	mkdir -p "$WORK"
	run_logged "$WORK/plugin.log" "building the plugin" build_plugin
	run_logged "$WORK/job.log" "building the job" \
		gcc -O2 -Wall -static -pthread -o "$WORK/job" "$TOP/tests/c2c/job.c"
	if [[ ${2:-} == control ]]; then
		run_logged "$WORK/control.log" "building the control" build_control
		control
		return
	fi

	for rw in $RW; do
		for level in $LEVELS; do
			for bitmap in $BITMAP; do
				[[ $level != raid0 ]] || bitmap=none
				for variant in $VARIANTS; do
					window=$level-$variant-$rw-$bitmap
					[[ " ${windows[*]} " == *" $window "* ]] || windows+=("$window")
				done
			done
		done
	done
	log "c2c: ${#windows[@]} times $IOS I/Os on $VCPUS vCPUs"
	count "${windows[@]}"
	rm -rf "$BUILD/c2c.tmp"
	mkdir -p "$BUILD/c2c.tmp"
	"$TOP/scripts/c2c-report.py" --modules "$BUILD/$KERNEL/qemu" --out "$BUILD/c2c.tmp" "${windows[@]/#/$WORK/}"
	printf '\nPer I/O of 4 KiB; %s I/Os, %s vCPUs; %sLinux %s, %s.\n' "$IOS" "$VCPUS" "$(state)" \
		"$(<"$KDIR/build/include/config/kernel.release")" \
		"$(qemu-system-x86_64 --version | sed -n '1s/ (.*//p')" >>"$BUILD/c2c.tmp/table.md"
	[[ $RW != randread || $BITMAP != none ]] || model "$BUILD/c2c.tmp" >>"$BUILD/c2c.tmp/table.md"
	rm -rf "$BUILD/c2c"
	mv "$BUILD/c2c.tmp" "$BUILD/c2c"
	cat "$BUILD/c2c/table.md"
	log "also in build/c2c: $(cd "$BUILD/c2c" && echo ./*.tsv ./*.svg)"
}

main "$@"
