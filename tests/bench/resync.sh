# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# How fast a resync is, by itself and beside random I/O, and how fast that I/O is
# beside a resync, with the stock and the percpu modules in turn. Leaves
# /results/bench.tsv:
#	round, level and what, variant, jobs, figure
# kB/s of the resync by itself (0 jobs), and beside reads or writes of 1 job; the
# IOPS of those.
#
# Wants LEVELS (of raid1 raid10), ROUNDS.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

TSV=/results/bench.tsv
DISK_MB=512

# row ROUND WHAT VARIANT JOBS FIGURE
row()
{
	printf '%s\t%s\t%s\t%s\t%s\n' "$@" >>$TSV
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

# resync: of md0, for three seconds or to the end; sets KBS, and IOPS of others
# meanwhile
resync()
{
	local t0 t1 n at=0 now i=0

	md sync_speed_max 4000000 && md sync_speed_min 4000000 || return
	n=$(ios)
	t0=$(awk '{ print $1 }' /proc/uptime)
	md sync_action repair || return
	while [ $i -lt 60 ]; do
		usleep 50000
		i=$((i + 1))
		now=$(md sync_completed)
		t1=$(awk '{ print $1 }' /proc/uptime)
		[ "$now" = none ] || { at=${now%% *}; continue; }
		# Over: all of it, at a time that is known to a twentieth of a second.
		md_is sync_action idle || continue
		at=$(cat /sys/block/md0/size)
		break
	done
	[ "$at" -gt 0 ] || return
	KBS=$(awk -v at="$at" -v t="$t1" -v t0="$t0" 'BEGIN { print int(at / 2 / (t - t0)) }')
	IOPS=$(awk -v n="$n" -v t="$t1" -v t0="$t0" '{ print int(($1 + $5 - n) / (t - t0)) }' /sys/block/md0/stat)
	md sync_action idle
	until_true 10 md_is sync_action idle
}

# shellcheck disable=SC2046 # disks gives words
# one ROUND LEVEL VARIANT
one()
{
	local rw

	md_use "$3" || exit
	case $2 in
	raid1) create 1 --assume-clean --bitmap=none --raid-devices=2 $(disks 2) ;;
	raid10) create 10 --assume-clean --bitmap=none --chunk=64 --raid-devices=4 $(disks 4) ;;
	esac || exit
	resync || exit
	row "$1" "$2-alone" "$3" 0 "$KBS"
	for rw in randread randwrite; do
		fio --name=load --filename=/dev/md0 --rw=$rw --bs=4k --direct=1 --ioengine=libaio \
			--iodepth=16 --thinktime=500 --thinktime_blocks=16 --norandommap --randrepeat=0 \
			--time_based --runtime=60 >/tmp/fio.out 2>&1 &
		until_true 10 some_ios || { cat /tmp/fio.out; exit 1; }
		resync || exit
		kill -INT $!
		wait $!
		row "$1" "$2-beside-$rw" "$3" 1 "$KBS"
		row "$1" "$2-$rw-beside" "$3" 1 "$IOPS"
	done
	stop || exit
	STEP=$((STEP + 1))
	echo "@ $STEP/$STEPS round $1 $2 $3"
}

STEP=0
STEPS=$(($(echo "$LEVELS" | wc -w) * 2 * ROUNDS))
echo 1 >/proc/sys/kernel/printk
ramdisks 4 $DISK_MB || exit
# shellcheck disable=SC2086 # words
in_turn $LEVELS
md_unload
