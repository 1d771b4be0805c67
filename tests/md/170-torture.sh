# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# cpus: 4
#
# This test will do all at once to a raid1 and to a raid10: verified writes, reads,
# discards, read errors on one member, failure and return of another, checks and repairs
# that start and stop, bitmaps that come and go, suspension, and CPUs that go offline
# where the kernel can; no byte is wrong, no copy differs, nothing stands still.
#
# LEVELS in the environment: only one of them.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

EACH=${EACH:-20} # seconds
RUN=2            # of one fio, which takes long to start where all is slow
[ -z "$LONG" ] || EACH=320 RUN=100
MB=48
NULLB=/sys/kernel/config/nullb

# What happens meanwhile. Each is done over and over, counted, until /tmp/end is there
# or it fails.
loop()
{
	local n=0

	until [ -e /tmp/end ]; do
		"$1" || { echo "$1" >>/tmp/failed; break; }
		n=$((n + 1))
	done
	echo "$1 $n" >>/tmp/counts
}

# fio_on OFFSET-MB SIZE-MB OPTION...
fio_on()
{
	local at=$1 size=$2 out

	shift 2
	out=$(mktemp)
	if ! fio --eta=never --output="$out" --name=load --filename=/dev/md0 --direct=1 --bs=4k \
		--ioengine=libaio --iodepth=16 --offset="${at}m" --size="${size}m" "$@"; then
		cat "$out"
		return 1
	fi
	rm -f "$out"
}

# Each block is written and then read again.
verify()
{
	fio_on 0 4 --rw=randwrite --bsrange=4k-64k --verify=crc32c --verify_fatal=1
}

reads()
{
	fio_on 0 "$SIZE" --rw=randread --numjobs=2 --time_based --runtime="$RUN"
}

writes()
{
	fio_on 8 16 --rw=randrw --time_based --runtime="$RUN"
}

discards()
{
	fio_on 24 4 --rw=randtrim --iodepth=2 --time_based --runtime="$RUN"
}

# Sectors that nobody writes but what mends them, on two members, never both copies; each
# fails once. A check would find most of them first. A recovery reads 64 KiB from one
# member, and then page by page: with two such sectors in it the second page is lost.
errors()
{
	for i in 0 1; do
		awk -v member=$i -v seed="$(tr -d ' .' </proc/uptime)" 'BEGIN {
			srand(seed + member)
			for (i = 0; i < 20; i++) {
				s = 31 * 2048 + int(rand() * 6 * 16) * 128 + member * 8
				printf "+%d-%d\n", s, s
			}
		}' | while read -r range; do
			echo "$range" >$NULLB/nullb$i/badblocks || return
		done || return
	done
	dd if=/dev/md0 of=/dev/null bs=16k iflag=direct skip=$((SIZE * 44)) count=$((SIZE * 16)) 2>/dev/null
}

sync_starts_and_stops()
{
	# Busy, when a recovery runs.
	echo check >/sys/block/md0/md/sync_action 2>/dev/null
	usleep 200000
	echo idle >/sys/block/md0/md/sync_action
	usleep 50000
	echo repair >/sys/block/md0/md/sync_action 2>/dev/null
	usleep 400000
}

bitmap_changes()
{
	# Not while a recovery runs.
	mdadm --quiet --grow /dev/md0 --bitmap=internal 2>/dev/null
	usleep 100000
	mdadm --quiet --grow /dev/md0 --bitmap=none 2>/dev/null
	usleep 100000
}

suspends()
{
	md suspend_hi 131072 && md suspend_lo 0 && usleep 20000 &&
		md suspend_lo 131072 && md suspend_hi 0 && usleep 80000
}

# comes_back DISK: it has failed, or is made to
comes_back()
{
	until mdadm --quiet /dev/md0 --remove "$1" 2>/tmp/remove.log; do
		grep -q busy /tmp/remove.log || { cat /tmp/remove.log; return 1; }
		usleep 10000
	done
	mdadm --quiet --zero-superblock "$1" && mdadm --quiet /dev/md0 --add "$1"
}

# back: a member with errors may have been failed for them
back()
{
	local i

	for i in 0 1; do
		! md dev-nullb$i/state | grep -q faulty || comes_back /dev/nullb$i || return
	done
}

fails()
{
	mdadm --quiet /dev/md0 --fail /dev/nullb2 && comes_back /dev/nullb2 || return
	usleep 500000
	back
}

hotplug()
{
	local cpu

	for cpu in 1 2 3; do
		echo 0 >/sys/devices/system/cpu/cpu$cpu/online || return
		usleep 100000
		echo 1 >/sys/devices/system/cpu/cpu$cpu/online || return
	done
	usleep 300000
}

# whole: what has failed is back, and in sync
whole()
{
	back || return
	idle 120 && md_is degraded 0
}

# torture LEVEL N OPTION...: an array of SIZE MB
torture()
{
	local level=$1 n=$2 i bg="" rc=0 loops end

	shift 2
	loops="verify reads writes discards errors sync_starts_and_stops bitmap_changes suspends fails"
	[ ! -w /sys/devices/system/cpu/cpu1/online ] || loops="$loops hotplug"
	for i in $(disks "$n" /dev/nullb); do
		mdadm --quiet --zero-superblock "$i" 2>/dev/null
	done
	# shellcheck disable=SC2046 # words
	create "$level" "$@" --assume-clean --bitmap=none --raid-devices="$n" $(disks "$n" /dev/nullb) || return
	# What the copies have in common, before they are compared.
	dd if=/dev/zero of=/dev/md0 bs=1M oflag=direct count="$SIZE" 2>/dev/null || return
	md max_read_errors 1000000 && md sync_speed_min 1000000 || return
	rm -f /tmp/end /tmp/failed /tmp/counts
	for i in $loops; do
		loop "$i" &
		bg="$bg $!"
	done
	# By the clock: where all is slow, so is the sleep.
	end=$(($(date +%s) + EACH))
	while [ "$(date +%s)" -lt $end ] && [ ! -e /tmp/failed ]; do
		sleep 10
		echo "@ raid$level: $((end - $(date +%s))) s to go"
	done
	touch /tmp/end
	# shellcheck disable=SC2086 # words
	wait $bg
	echo "# raid$level: $(tr '\n' ' ' </tmp/counts), $(awk '{ print $1 " reads, " $5 " writes, " $12 " discards" }' /sys/block/md0/stat)"
	[ ! -e /tmp/failed ] || { echo "# failed: $(cat /tmp/failed)"; rc=1; }
	! grep -q ' 0$' /tmp/counts || rc=1
	# A few: what is repeated is not all told.
	echo "# $(dmesg | grep -c "raid$level:md0:.*rescheduling sector") reads in the log that have failed"
	dmesg | grep -q "raid$level:md0:.*rescheduling sector" || rc=1
	for i in 0 1; do
		echo "-0-$((MB * 2048 - 1))" >$NULLB/nullb$i/badblocks
	done
	until_true 120 whole || { cat /proc/mdstat; rc=1; }
	md sync_action check && idle 120 || rc=1
	md_is mismatch_cnt 0 || { echo "# $(md mismatch_cnt) sectors differ"; rc=1; }
	stop && return $rc
}

LEVELS=${LEVELS:-raid1 raid10}
plan $(($(echo "$LEVELS" | wc -w) + 1))
md_use "$VARIANT"
for i in 0 1 2 3; do
	try null_disk "$i" $MB discard=1 badblocks_once=1 irqmode=2 completion_nsec=50000
done
for level in $LEVELS; do
	# So that the members' sectors with errors are read, and not written.
	case $level in
	raid1) SIZE=40; ok raid1 torture 1 3 ;;
	raid10) SIZE=84; ok raid10 torture 10 4 --chunk=64 ;;
	esac
done
ok "all modules can go" md_unload
