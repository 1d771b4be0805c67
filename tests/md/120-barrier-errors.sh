# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# This test will let reads, writes and a reshape fail while the array is frozen, and
# see that it goes on; stock md stands still for ever in three of these.
#
# PARTS in the environment: only some of them, such as to see stock stand still.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

MB=48
BAD=/sys/kernel/config/nullb/nullb0/badblocks

# bad_sectors N STEP: on the first member, from 8 MiB on
bad_sectors()
{
	awk -v n="$1" -v step="$2" 'BEGIN {
		for (i = 0; i < n; i++)
			printf "+%d-%d\n", 16384 + i * step, 16384 + i * step
	}' | while read -r range; do
		echo "$range" >"$BAD" || return
	done
}

all_good()
{
	echo "-0-$((MB * 2048 - 1))" >"$BAD"
}

# load SECONDS OPTIONS...: fio in the background, as $LOAD
load()
{
	local s=$1

	shift
	fio --eta=never --output=/tmp/load.log --name=load --filename=/dev/md0 --direct=1 --bs=4k \
		--ioengine=libaio --iodepth=16 --numjobs=4 --group_reporting \
		--time_based --runtime="$s" --offset=4m --size=24m "$@" &
	LOAD=$!
}

# ended SECONDS: the load has, well
ended()
{
	until_true "$1" gone "$LOAD" || { cat /proc/mdstat; return 1; }
	wait "$LOAD" || { cat /tmp/load.log; return 1; }
}

# array LEVEL OPTIONS...
array()
{
	local level=$1

	shift
	create "$level" --assume-clean --raid-devices=2 /dev/nullb0 /dev/nullb1 "$@"
}

# retry_while_quiesced LEVEL: reads that fail on one member and are done by the
# other, of an array that is read-only, while it is quiesced again and again
retry_while_quiesced()
{
	array "$1" --bitmap=none && mdadm --quiet --readonly /dev/md0 &&
		bad_sectors 500 16 || return
	load 8 --rw=randread --offset=8m --size=3900k
	rm -f /tmp/enough
	(
		n=0
		# It is an error, but only after the array was quiesced.
		until [ -e /tmp/enough ]; do
			echo readonly >/sys/block/md0/md/array_state
			n=$((n + 1))
		done 2>/dev/null
		echo $n >/tmp/quiesced
	) &
	ended 30 || return
	touch /tmp/enough
	wait
	echo "# quiesced $(cat /tmp/quiesced) times"
	[ "$(cat /tmp/quiesced)" -ge 20 ] && all_good && stop
}

# errors_and_metadata LEVEL: writes that fail, so that others wait for the bad block to
# be recorded, and reads that fail, so that the array is frozen
errors_and_metadata()
{
	array "$1" --bitmap=none && bad_sectors 450 96 || return
	echo 100000 >/sys/block/md0/md/max_read_errors
	load 15 --rw=randrw --rwmixread=60
	ended 60 || return
	echo "# $(wc -l <"/sys/block/md0/md/dev-nullb0/bad_blocks") bad blocks"
	[ -s /sys/block/md0/md/dev-nullb0/bad_blocks ] && all_good && stop
}

# blocked_and_frozen LEVEL: a member fails, and writes wait until that is recorded, while
# the array is frozen for reads of another one that fail
blocked_and_frozen()
{
	local i n=0 layout='' BAD=/sys/kernel/config/nullb/nullb2/badblocks

	[ "$1" = 1 ] || layout=--layout=n3
	# shellcheck disable=SC2086 # words
	create "$1" --assume-clean --bitmap=none $layout --raid-devices=3 /dev/nullb2 /dev/ram0 /dev/ram1 || return
	echo 100000 >/sys/block/md0/md/max_read_errors
	rm -f /tmp/enough
	(
		until [ -e /tmp/enough ]; do
			bad_sectors 500 16
		done
	) &
	load 600 --rw=randrw --rwmixread=70 --offset=8m --size=3900k
	for i in $(seq 25); do
		mdadm --quiet /dev/md0 --fail /dev/ram1 || break
		until_true 20 fio_moves || break
		until_true 10 mdadm --quiet /dev/md0 --remove /dev/ram1 2>/dev/null || break
		mdadm --quiet /dev/md0 --add /dev/ram1 || break
		idle 30 || break
		n=$i
	done
	touch /tmp/enough
	echo "# failed $n times"
	[ "$n" = 25 ] || return
	kill -INT "$LOAD"
	until_true 20 gone "$LOAD" || return
	wait
	all_good && stop
}

# fio_moves: another write has ended
fio_moves()
{
	local was

	was=$(awk '{ print $5 }' /sys/block/md0/stat)
	usleep 100000
	[ "$(awk '{ print $5 }' /sys/block/md0/stat)" != "$was" ]
}

# reshape_gives_up: there is nothing to read from
reshape_gives_up()
{
	local d

	create 10 --assume-clean --bitmap=none --chunk=64 --raid-devices=4 /dev/ram0 /dev/ram1 /dev/ram2 /dev/ram3 &&
		mdadm --quiet /dev/md0 --add /dev/ram4 || return
	for d in ram0 ram1; do
		echo "2048 8" >/sys/block/md0/md/dev-$d/bad_blocks || return
	done
	mdadm --quiet --grow /dev/md0 --raid-devices=5 || return
	# md tries again and again.
	until_true 20 gave_up && md sync_action frozen || return
	load 1 --rw=randwrite
	ended 20 && stop
}

gave_up()
{
	dmesg | grep -q 'reshape interrupted'
}

PARTS=${PARTS:-retry:1 retry:10 errors:1 errors:10 blocked:1 blocked:10 reshape}
plan $(($(echo "$PARTS" | wc -w) + 1))
try ramdisks 5 $MB
try md_use "$VARIANT"
try null_disk 0 $MB
try null_disk 1 $MB
try null_disk 2 $MB badblocks_once=1
for part in $PARTS; do
	case $part in
	retry:*) ok "raid${part#*:}: reads are retried while the array is quiesced" retry_while_quiesced "${part#*:}" ;;
	errors:*) ok "raid${part#*:}: bad blocks are recorded while the array is frozen" errors_and_metadata "${part#*:}" ;;
	blocked:*) ok "raid${part#*:}: a member fails while the array is frozen for another one" blocked_and_frozen "${part#*:}" ;;
	reshape) ok "raid10: I/O goes on after a reshape that has given up" reshape_gives_up ;;
	esac || exit
done
ok "all modules can go" md_unload
