# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# This test will look for writes that go on while the metadata says that the array is
# clean, for raid10 that stands still, for a member that is removed while a write is about
# to use it, and for a raid5 that is freed while its workers use it, in modules where the
# code is slow in the places that matter.
#
# SETS: which module sets, each with what it does, good or bad; the slow modules of a SET
# are /job/slow-SET-MODULE.ko. PARTS: some of clean dirty backout
# removal workers, the last one for a kernel with KASAN.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

MB=64
OFFSET=$((32 * 2048))	# sectors: what is before it is metadata, and after it data

# slow_set SET
slow_set()
{
	local ko to

	cp -a "/md/${1#slow-}" "/md/$1" || return
	to=/md/$1/lib/modules/$(uname -r)/md
	for ko in /job/"$1"-*.ko; do
		cp "$ko" "$to/${ko#/job/"$1"-}" || return
	done
}

widen()
{
	echo "$1" >/sys/module/md_mod/parameters/widen
}

# slow_member METADATA DATA: ms that a write takes on the first member, there
slow_member()
{
	dmsetup create slow <<-END
		0 $OFFSET delay /dev/nullb0 0 0 /dev/nullb0 0 $1
		$OFFSET $((MB * 2048 - OFFSET)) delay /dev/nullb0 $OFFSET 0 /dev/nullb0 $OFFSET $2
	END
}

# array SET METADATA DATA
array()
{
	slow_member "$2" "$3" && md_use "$1" &&
		create 1 --assume-clean --bitmap=none --raid-devices=2 /dev/mapper/slow /dev/nullb1
}

no_array()
{
	widen 0
	stop && until_true 5 dmsetup remove slow 2>/dev/null
}

# write_now: a block, after OFFSET on the members
write_now()
{
	dd if=/dev/zero of=/dev/md0 bs=4k count=1 seek=$((40 * 256)) oflag=direct conv=notrunc 2>/dev/null
}

# under_way_and_clean: twice in a row
under_way_and_clean()
{
	local writes state i

	for i in 1 2; do
		read -r _ writes </sys/block/md0/inflight
		read -r state </sys/block/md0/md/array_state
		[ "$writes" -gt 0 ] && [ "$state" = clean ] || return
		usleep 20000
	done
	echo "# array_state is $state, $writes write under way, after $i looks"
}

# clean SET: no write is under way while the array is clean
clean()
{
	local rc=0

	array "$1" 0 300 || return
	md safe_mode_delay 0.001
	widen 1
	rm -f /tmp/enough
	(
		n=0
		until [ -e /tmp/enough ]; do
			write_now
			n=$((n + 1))
			usleep $((n * 7919 % 200 * 1000))
		done
		echo $n >/tmp/writes
	) &
	! until_seen 40 || rc=1
	touch /tmp/enough
	wait
	echo "# $1: $(cat /tmp/writes) writes"
	no_array && return $rc
}

# until_seen SECONDS: as until_true, without a pause
until_seen()
{
	local end

	end=$(($(date +%s) + $1))
	until under_way_and_clean; do
		[ "$(date +%s)" -lt $end ] || return 1
	done
}

# dirty SET: no write ends before the metadata is written, which takes 300 ms
dirty()
{
	local i min=1000 n=0 rc=0

	array "$1" 300 0 || return
	md safe_mode_delay 0
	for i in $(seq 12); do
		widen 0
		until_true 5 clean_now || return
		widen 2
		rm -f /tmp/lat_lat.*
		fio --output=/tmp/load.log --name=load --filename=/dev/md0 --direct=1 --bs=4k --rw=write \
			--thread --numjobs=8 --offset=40m --offset_increment=64k --number_ios=1 --size=4k \
			--write_lat_log=/tmp/lat || { cat /tmp/load.log; return 1; }
		n=$(cat /tmp/lat_lat.*.log | wc -l)
		min=$(cat /tmp/lat_lat.*.log | awk -F', *' -v min="$min" '$2 / 1e6 < min { min = $2 / 1e6 } END { print int(min) }')
	done
	echo "# $1: the fastest of the writes took $min ms; $n a round"
	[ "$n" = 8 ] && [ "$min" -ge 250 ] || rc=1
	no_array && return $rc
}

clean_now()
{
	md array_state clean 2>/dev/null && md_is array_state clean
}

# backout SET: reads go on while others fail and are repaired
backout()
{
	local reader other rc=0 end

	md_use "$1" || return
	create 10 --assume-clean --bitmap=none --raid-devices=2 /dev/nullb0 /dev/nullb1 || return
	echo 100000 >/sys/block/md0/md/max_read_errors
	echo 1 >/sys/kernel/config/nullb/nullb0/badblocks_once
	rm -f /tmp/enough
	(
		until [ -e /tmp/enough ]; do
			awk 'BEGIN { for (i = 0; i < 500; i++) printf "+%d-%d\n", 16384 + i * 16, 16384 + i * 16 }' |
				while read -r range; do
					echo "$range" >/sys/kernel/config/nullb/nullb0/badblocks
				done
		done
	) &
	reader=$!
	fio --eta=never --output=/tmp/load.log --name=load --filename=/dev/md0 --direct=1 --bs=4k \
		--rw=randread --numjobs=2 --thread --time_based --runtime=20 --offset=8m --size=3900k &
	other=$!
	end=$(($(date +%s) + 22))
	until ! reads_move; do
		[ "$(date +%s)" -lt $end ] || break
	done
	if kill -0 $other 2>/dev/null && ! reads_move; then
		echo "# $1: no read has ended for 6 s; $(awk '{ print $1 }' /sys/block/md0/stat) before"
		cat /proc/[0-9]*/stack 2>/dev/null | grep -E "freeze_array|wait_barrier"
		rc=1
	fi
	touch /tmp/enough
	wait $reader
	[ $rc = 0 ] || return $rc
	wait $other || { cat /tmp/load.log; return 1; }
	echo "# $1: $(awk '{ print $1 }' /sys/block/md0/stat) reads, $(dmesg | grep -c "read error corrected") repaired"
	stop
}

# removal SET: a member that has failed stays in its slot while a write, which has found
# it good, is about to be counted there
removal()
{
	slow_member 0 2500 && md_use "$1" &&
		create 1 --assume-clean --bitmap=none --raid-devices=2 /dev/nullb1 /dev/mapper/slow || return
	# The one that keeps the member, until md has looked and seen that it cannot go.
	write_now &
	usleep 200000
	echo 1 >/sys/module/raid1/parameters/widen
	write_now &
	usleep 200000
	md dev-dm-0/state faulty || return
	usleep 1400000
	widen 3
	md sync_action check
	wait
	no_array
}

# workers SET: an array is stopped while the workers that handled its last stripes return
workers()
{
	md_use "$1" || return
	for _ in 1 2 3; do
		create 5 --assume-clean --bitmap=none --raid-devices=3 /dev/nullb0 /dev/nullb1 /dev/nullb2 &&
			md group_thread_cnt 4 || return
		echo 1 >/sys/module/raid456/parameters/widen
		dd if=/dev/zero of=/dev/md0 bs=64k count=16 oflag=direct 2>/dev/null && stop || return
		usleep 500000
	done
}

# reads_move: one has ended, within 3 s
reads_move()
{
	local was

	was=$(awk '{ print $1 }' /sys/block/md0/stat)
	usleep 3000000
	[ "$(awk '{ print $1 }' /sys/block/md0/stat)" != "$was" ]
}

# bad COMMAND...: it fails, in one of five tries
bad()
{
	local tries=5

	while [ $tries -gt 0 ]; do
		"$@" || return 0
		tries=$((tries - 1))
	done
	return 1
}

SETS=${SETS:-stock:bad percpu:good}
PARTS=${PARTS:-clean dirty}
plan $(($(echo "$SETS" | wc -w) * $(echo "$PARTS" | wc -w)))
try modprobe dm-mod
try modprobe dm-delay
try null_disk 0 $MB
try null_disk 1 $MB
try null_disk 2 $MB
for s in $SETS; do
	try slow_set "slow-${s%:*}"
	for part in $PARTS; do
		case $s in
		*:bad) ok "${s%:*}: $part is not kept" bad "$part" "slow-${s%:*}" ;;
		*) ok "${s%:*}: $part" "$part" "slow-${s%:*}" ;;
		esac
	done
done
