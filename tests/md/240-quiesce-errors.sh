# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# This test will have writes of a member fail while the array is quiesced by somebody who
# holds reconfig_mutex, so that the metadata must be written meanwhile; stock md stands
# still for ever in each of these.
#
# PARTS in the environment: only some of them, such as to see stock stand still.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

SECTORS=98304
GOOD=3072

# members MS: /dev/mapper/m0 to m2, whose writes take so long, and fail on the last one
# where there are data
members()
{
	local i

	for i in 0 1 2; do
		[ ! -e "/dev/mapper/m$i" ] || dmsetup remove "m$i" || return
		dmsetup create "m$i" --table \
			"0 $SECTORS delay /dev/mapper/d$i 0 0 /dev/mapper/d$i 0 $1" || return
		mdadm --quiet --zero-superblock "/dev/mapper/m$i" 2>/dev/null
	done
	true
}

# slow MS: the writes of the last member from now on
slow()
{
	dmsetup reload m2 --table "0 $SECTORS delay /dev/mapper/d2 0 0 /dev/mapper/d2 0 $1" &&
		dmsetup suspend m2 && dmsetup resume m2
}

# array LEVEL DEVICE-OR-OPTION...: of three
array()
{
	local level=$1

	shift
	create "$level" --assume-clean --data-offset=1M --raid-devices=3 "$@" || return
	md safe_mode_delay 0
}

# set_in_time FILE VALUE: it is accepted within 40 seconds
set_in_time()
{
	local writer

	# Busy, while md looks whether a recovery is needed.
	sh -c "until echo $2 >/sys/block/md0/md/$1; do usleep 10000; done" 2>/tmp/set.log &
	writer=$!
	until_true 40 gone $writer || { echo "# $(cat /proc/mdstat)"; return 1; }
	wait $writer
}

# recovery: the member that is rebuilt fails, while raid5 waits for the stripes
recovery()
{
	array 5 --bitmap=none /dev/mapper/m0 /dev/mapper/m1 missing || return
	# For each few stripes the metadata is written, which takes as long.
	slow 200 && mdadm --quiet /dev/md0 --add /dev/mapper/m2 || return
	until_true 10 grep -q recovery /proc/mdstat || return
	usleep 500000
	set_in_time group_thread_cnt 2 && slow 0 && idle 60 && stop
}

# resize LEVEL: a write fails while the bitmap is replaced
resize()
{
	local writer

	array "$1" --bitmap=internal --bitmap-chunk=64M /dev/mapper/m0 /dev/mapper/m1 /dev/mapper/m2 || return
	dd if=/dev/zero of=/dev/md0 bs=4k count=1 oflag=direct conv=notrunc 2>/tmp/dd.log || return
	# The block is split into sectors then, and each takes as long.
	slow 500
	dd if=/dev/zero of=/dev/md0 bs=4k seek=256 count=1 oflag=direct conv=notrunc 2>/tmp/dd.log &
	writer=$!
	usleep 200000
	! gone $writer || return
	set_in_time component_size "$(md component_size)" || return
	until_true 20 gone $writer || { cat /proc/mdstat; return 1; }
	wait $writer && slow 0 || return
	# The new bitmap has not counted what the old one had.
	dd if=/dev/zero of=/dev/md0 bs=4k seek=256 count=8 oflag=direct conv=notrunc 2>/tmp/dd.log &
	writer=$!
	until_true 20 gone $writer || { cat /proc/mdstat; return 1; }
	wait $writer && stop
}

PARTS=${PARTS:-recovery resize:10 resize:5 resize:1}
plan $(($(echo "$PARTS" | wc -w) + 1))
try modprobe dm-mod
try modprobe dm-delay
try modprobe dm-flakey
try ramdisks 3 48
for i in 0 1; do
	try dmsetup create d$i --table "0 $SECTORS linear /dev/ram$i 0"
done
dmsetup create d2 <<-END
	0 $GOOD linear /dev/ram2 0
	$GOOD $((SECTORS - GOOD)) flakey /dev/ram2 $GOOD 0 1 1 error_writes
END
try test -e /dev/mapper/d2
try md_use "$VARIANT"
for part in $PARTS; do
	try members 0
	case $part in
	recovery) ok "raid5: the rebuilt member fails while group_thread_cnt is set" recovery ;;
	resize:*) ok "raid${part#*:}: a write fails while the bitmap is replaced" resize "${part#*:}" ;;
	esac || exit
done
ok "all modules can go" md_unload
