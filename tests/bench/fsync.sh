# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# What a flush costs: a 4 KiB write and an fsync, in turn by many threads, on arrays of
# disks whose flush takes 100 us; and dbench with as many clients, on ext4 on raid10. With
# the stock and the percpu modules and with stock's in which one flush at a time is done
# for the whole array (one-at-a-time.patch), for all that wait (serial) or for each bio
# by itself (alone), in turn. Leaves /results/bench.tsv:
#	round, level, variant, jobs, IOPS; dbench: kB/s
#
# Wants LEVELS, JOBS (a list), RUNTIME (s a run), ROUNDS, DBENCH (s a run, or 0).

# shellcheck source=tests/guest/lib.sh
. /lib.sh

TSV=/results/bench.tsv
DISK_MB=2048

# row ROUND WHAT VARIANT JOBS FIGURE
row()
{
	printf '%s\t%s\t%s\t%s\t%s\n' "$@" >>$TSV
	STEP=$((STEP + 1))
	echo "@ $STEP/$STEPS round $1 $2 $3, $4 job(s): $5"
}

# fsync_iops JOBS
fsync_iops()
{
	fio --name=fsync --filename=/dev/md0 --rw=randwrite --bs=4k --fsync=1 --direct=1 \
		--ioengine=psync --thread --numjobs="$1" --norandommap --randrepeat=0 \
		--size=64M --time_based --runtime="$RUNTIME" --ramp_time=0.3 --group_reporting \
		--output-format=terse --terse-version=3 2>/tmp/fio.err >/tmp/fio.out
	awk -F';' '$3 == "fsync" && $5 == 0 && $49 > 0 { print int($49); found = 1 }
		END { exit !found }' /tmp/fio.out || { cat /tmp/fio.err /tmp/fio.out; false; }
}

# dbench_kbs CLIENTS
dbench_kbs()
{
	mkfs.ext4 -q -F -E lazy_itable_init=0 /dev/md0 && mount -t ext4 /dev/md0 /mnt || return
	dbench -s -t "$DBENCH" -c /job/client.txt -D /mnt "$1" >/tmp/dbench.out 2>&1
	umount /mnt
	awk '$1 == "Throughput" { print int($2 * 1000); found = 1 } END { exit !found }' /tmp/dbench.out ||
		{ tail /tmp/dbench.out; false; }
}

# shellcheck disable=SC2046,SC2153 # words; set by init
# one ROUND LEVEL VARIANT
one()
{
	local jobs n

	md_use "$3" || exit
	[ "$3" != alone ] || modprobe md_mod flush_alone=1 || exit
	case $2 in
	raid0) create 0 --chunk=64 --raid-devices=4 $(disks 4 /dev/nullb) ;;
	raid1) create 1 --assume-clean --bitmap=none --raid-devices=2 $(disks 2 /dev/nullb) ;;
	raid10) create 10 --assume-clean --bitmap=none --chunk=64 --raid-devices=4 $(disks 4 /dev/nullb) ;;
	raid5) create 5 --assume-clean --bitmap=none --chunk=64 --raid-devices=4 $(disks 4 /dev/nullb) ;;
	esac || exit
	[ "$2" = raid0 ] || md safe_mode_delay 0
	for jobs in $JOBS; do
		n=$(fsync_iops "$jobs") || { echo "$n"; exit 1; }
		row "$1" "$2" "$3" "$jobs" "$n"
	done
	if [ "$2" = raid10 ] && [ "$DBENCH" -gt 0 ]; then
		n=$(dbench_kbs 128) || { echo "$n"; exit 1; }
		row "$1" dbench-s "$3" 128 "$n"
	fi
	stop || exit
}

STEP=0
STEPS=$(($(echo "$LEVELS" | wc -w) * $(echo "$JOBS" | wc -w) * 4 * ROUNDS))
case "$LEVELS-$DBENCH" in
*-0) ;;
*raid10*) STEPS=$((STEPS + 4 * ROUNDS)) ;;
esac
echo 1 >/proc/sys/kernel/printk
for d in 0 1 2 3; do
	null_disk $d $DISK_MB cache_size=64 irqmode=2 completion_nsec=100000 || exit
done
about
cp -a /md/stock /md/serial && cp /job/md-mod.ko "/md/serial/lib/modules/$(uname -r)/md/" &&
	ln -s serial /md/alone || exit
# shellcheck disable=SC2034 # for in_turn
SETS="stock percpu serial alone"
# shellcheck disable=SC2086 # words
in_turn $LEVELS
md_unload
