# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# How fast check, repair, recovery and reshape are, by themselves and beside random I/O,
# and how fast that I/O is meanwhile, with the stock and the percpu modules in turn.
# Leaves /results/bench.tsv:
#	round, level and what, variant, jobs, figure
# kB/s by itself (0 jobs), and beside reads and writes of 1 job; the IOPS of those.
#
# Wants LEVELS (of raid1 raid10), RUNTIME (s at most of each), ROUNDS.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

TSV=/results/bench.tsv
# Five disks in three quarters of the memory
DISK_MB=$(awk '/^MemTotal:/ { print int($2 / 1024 * 3 / 4 / 5 / 64) * 64 }' /proc/meminfo)

# row ROUND WHAT VARIANT JOBS FIGURE
row()
{
	printf '%s\t%s\t%s\t%s\t%s\n' "$@" >>$TSV
}

# said TEXT: when the kernel last said it, in ms
said()
{
	dmesg | sed -n "s/^\[ *\([0-9]*\)\.\([0-9]\{3\}\)[0-9]*\] $1$/\1\2/p" | tail -n 1
}

# stamp: now, by that clock
stamp()
{
	echo "resync: stamp" >/dev/kmsg
	said "resync: stamp"
}

# ios: that md0 has done
ios()
{
	awk '{ print $1 + $5 }' /sys/block/md0/stat
}

# some_ios: more than now are done soon
some_ios()
{
	local now

	now=$(ios)
	usleep 50000
	[ "$(ios)" -gt "$now" ]
}

# start WHAT: what is measured
start()
{
	case $1 in
	check | repair) md sync_action "$1" ;;
	recovery) mdadm --quiet /dev/md0 --add /dev/ram1 ;;
	reshape) mdadm --quiet --grow /dev/md0 --raid-devices=5 ;;
	esac
}

# end WHAT: what is left of it
end()
{
	case $1 in
	check | repair)
		md sync_action idle
		until_true 10 md_is sync_action idle
		;;
	recovery) md sync_action frozen ;;
	reshape) md sync_action frozen ;;
	esac
}

# before WHAT
before()
{
	case $1 in
	recovery)
		mdadm --quiet /dev/md0 --fail /dev/ram1 && until_true 10 mdadm --quiet /dev/md0 --remove /dev/ram1 2>/dev/null &&
			mdadm --quiet --zero-superblock /dev/ram1
		;;
	reshape) mdadm --quiet --zero-superblock /dev/ram4 2>/dev/null; mdadm --quiet /dev/md0 --add /dev/ram4 ;;
	esac
}

# done_kb: how far it is, of each member; nothing if none is under way
done_kb()
{
	sed -n 's/.* = *[0-9.]*% (\([0-9]*\)\/.*/\1/p' /proc/mdstat
}

# sync_speed WHAT: from where it is under way, for RUNTIME seconds or to its end, which md
# tells itself; sets KBS, and IOPS of others meanwhile. What it takes to begin, a grace
# period with percpu, is no part of the speed.
sync_speed()
{
	local t0 t n kb=0 at from=0 i=0

	md sync_speed_max 4000000 && md sync_speed_min 4000000 && before "$1" || return
	start "$1" || return
	while :; do
		at=$(done_kb)
		t=$(stamp)
		if [ "${at:-0}" -gt 0 ]; then
			[ "$from" -gt 0 ] || { from=$at t0=$t n=$(ios); }
			kb=$at
		elif [ "$from" -gt 0 ] && md_is sync_action idle; then
			kb=$(cat /sys/block/md0/md/component_size)
			t=$(said "md: md0: .* done.")
			t=${t:-0}
			break
		fi
		i=$((i + 1))
		[ $i -lt $((RUNTIME * 20)) ] || break
		usleep 50000
	done
	if [ "$from" = 0 ] || [ "$t" -le "$t0" ]; then
		echo "# $1: nothing was done"
		cat /proc/mdstat
		return 1
	fi
	IOPS=$((($(ios) - n) * 1000 / ($(stamp) - t0)))
	KBS=$(((kb - from) * 1000 / (t - t0)))
	end "$1"
}

# array LEVEL
array()
{
	local d

	for d in $(disks 5); do
		mdadm --quiet --zero-superblock "$d" 2>/dev/null
	done
	# shellcheck disable=SC2046 # words
	case $1 in
	raid1) create 1 --assume-clean --bitmap=none --raid-devices=2 $(disks 2) ;;
	raid10) create 10 --assume-clean --bitmap=none --chunk=64 --raid-devices=4 $(disks 4) ;;
	esac
}

# one ROUND LEVEL VARIANT
one()
{
	local what

	md_use "$3" || exit
	for what in check repair recovery reshape; do
		[ "$2-$what" != raid1-reshape ] || continue
		array "$2" && sync_speed $what || exit
		row "$1" "$2-$what" "$3" 0 "$KBS"
		stop && array "$2" || exit
		fio --name=load --filename=/dev/md0 --rw=randrw --bs=4k --direct=1 --ioengine=libaio \
			--iodepth=16 --thinktime=500 --thinktime_blocks=16 --norandommap --randrepeat=0 \
			--time_based --runtime=60 >/tmp/fio.out 2>&1 &
		until_true 10 some_ios || { cat /tmp/fio.out; exit 1; }
		sync_speed $what || exit
		kill -INT $!
		wait $!
		row "$1" "$2-$what" "$3" 1 "$KBS"
		row "$1" "$2-$what-io" "$3" 1 "$IOPS"
		stop || exit
		STEP=$((STEP + 1))
		echo "@ $STEP/$STEPS round $1 $2 $3, $what: $KBS kB/s, $IOPS IOPS"
	done
}

STEP=0
STEPS=0
for level in $LEVELS; do
	case $level in
	raid1) STEPS=$((STEPS + 6 * ROUNDS)) ;;
	raid10) STEPS=$((STEPS + 8 * ROUNDS)) ;;
	*) echo "RW=resync: LEVELS of raid1 raid10"; exit 1 ;;
	esac
done
echo 1 >/proc/sys/kernel/printk
echo Y >/sys/module/printk/parameters/time
ramdisks 5 "$DISK_MB" || exit
for d in $(disks 5); do
	dd if=/dev/zero of="$d" bs=1M count="$DISK_MB" 2>/dev/null
done
about
# shellcheck disable=SC2086 # words
in_turn $LEVELS
md_unload
