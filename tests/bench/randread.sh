# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The main job: 4 KiB random reads of ramdisks, and of arrays of them, with the
# stock and the percpu modules in turn. Leaves /results/bench.tsv:
#	round, level, variant, jobs, IOPS
# "brd" is one bare ramdisk, read in each variant's turn: a control of the noise.
#
# Wants LEVELS, JOBS (a list), DEPTH, RUNTIME (s a run), ROUNDS.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

TSV=/results/bench.tsv
DISK_MB=96

# fio_iops DEVICE JOBS
fio_iops()
{
	fio --name=randread --filename="$1" --rw=randread --bs=4k --direct=1 \
		--ioengine=libaio --iodepth="$DEPTH" --iodepth_batch_submit=$BATCH \
		--iodepth_batch_complete_max=$BATCH --norandommap --randrepeat=0 \
		--numjobs="$2" --cpus_allowed=0-$(($2 - 1)) --cpus_allowed_policy=split \
		--time_based --runtime="$RUNTIME" --ramp_time=0.2 --gtod_reduce=1 \
		--clocksource=cpu --group_reporting --output-format=terse \
		--terse-version=3 2>/tmp/fio.err >/tmp/fio.out
	awk -F';' '$3 == "randread" && $5 == 0 && $8 > 0 { print int($8); found = 1 }
		END { exit !found }' /tmp/fio.out || { cat /tmp/fio.err /tmp/fio.out; false; }
}

# measure ROUND LEVEL VARIANT DEVICE
measure()
{
	local jobs iops

	# shellcheck disable=SC2153 # set by init
	for jobs in $JOBS; do
		iops=$(fio_iops "$4" "$jobs") || { echo "$iops"; exit 1; }
		printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$jobs" "$iops" >>$TSV
		STEP=$((STEP + 1))
		echo "@ $STEP/$STEPS round $1 $2 $3, $jobs job(s): $((iops / 1000)) k IOPS"
	done
}

# shellcheck disable=SC2046 # disks gives words
# one ROUND LEVEL VARIANT: make the array, measure, take it away
one()
{
	md_use "$3" || exit
	case $2 in
	brd) measure "$1" "$2" "$3" /dev/ram0; return ;;
	raid0) create 0 --chunk=64 --raid-devices=3 $(disks 3) ;;
	raid1) create 1 --assume-clean --bitmap=none --raid-devices=2 $(disks 2) ;;
	raid10) create 10 --assume-clean --bitmap=none --chunk=64 --raid-devices=4 $(disks 4) ;;
	raid5) create 5 --assume-clean --bitmap=none --chunk=64 --raid-devices=3 $(disks 3) ;;
	esac || exit
	measure "$1" "$2" "$3" /dev/md0
	stop || { echo "cannot stop the array"; exit 1; }
}

BATCH=$((DEPTH < 64 ? DEPTH : 64))
STEP=0
STEPS=$((($(echo "$LEVELS" | wc -w) + 1) * $(echo "$JOBS" | wc -w) * 2 * ROUNDS))
echo 1 >/proc/sys/kernel/printk	# the console costs time
ramdisks 4 $DISK_MB || exit
for d in 0 1 2 3; do
	dd if=/dev/zero of=/dev/ram$d bs=1M count=$DISK_MB 2>/dev/null
done
about

# shellcheck disable=SC2086 # words
in_turn brd $LEVELS
md_unload
