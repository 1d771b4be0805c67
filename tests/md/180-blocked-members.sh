# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# program: tests/io/block.c
#
# This test will see that a write to raid10 waits for a member that is blocked if it goes
# to that member, and only then: of four disks in two pairs, stock md asks the first pair.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

# Blocks of 4 KiB; a chunk is 16 of them.
FIRST=1
SECOND=17

# array OPTION...: two pairs of disks, chunks of 64 KiB in turn
array()
{
	create 10 --assume-clean --bitmap=none --layout=n2 --chunk=64 --raid-devices=4 "$@"
}

state()
{
	echo "$2" >"/sys/block/md0/md/dev-$1/state"
}

# waits COMMAND...: it does not end while $MEMBER is blocked, and does afterwards
waits()
{
	local pid

	"$@" &
	pid=$!
	usleep 700000
	if gone $pid; then
		echo "# did not wait: $*"
		return 1
	fi
	state "$MEMBER" -blocked
	until_true 10 gone $pid && wait $pid
}

# goes_on COMMAND...: it ends while $MEMBER is blocked
goes_on()
{
	local pid

	"$@" &
	pid=$!
	until_true 2 gone $pid && wait $pid && return
	echo "# waits: $*"
	state "$MEMBER" -blocked
	wait $pid
	return 1
}

write_block()
{
	/job/block write /dev/md0 "$1" 7
}

# blocked MEMBER WAITS GOES-ON: with that member blocked, a write to the one block waits,
# to the other one it does not
blocked()
{
	MEMBER=$1
	array /dev/ram0 /dev/ram1 /dev/ram2 /dev/ram3 || return
	state "$MEMBER" blocked && goes_on write_block "$3" && waits write_block "$2"
	set -- $?
	stop && return "$1"
}

# replacement: the same, for one that is built
replacement()
{
	MEMBER=ram4
	array /dev/ram0 /dev/ram1 /dev/ram2 /dev/ram3 || return
	echo 200 >/sys/block/md0/md/sync_speed_min
	echo 200 >/sys/block/md0/md/sync_speed_max
	mdadm --quiet /dev/md0 --add /dev/ram4 &&
		mdadm --quiet /dev/md0 --replace /dev/ram2 --with /dev/ram4 &&
		until_true 10 grep -q recovery /proc/mdstat &&
		state "$MEMBER" blocked && goes_on write_block $FIRST && waits write_block $SECOND
	set -- $?
	stop && return "$1"
}

# discard MEMBER: of a range that is on every member
discard()
{
	MEMBER=$1
	array /dev/ram0 /dev/ram1 /dev/ram2 /dev/ram3 || return
	state "$MEMBER" blocked && waits blkdiscard -o 1048576 -l 4194304 /dev/md0
	set -- $?
	stop && return "$1"
}

plan 7
try ramdisks 5 48
try md_use "$VARIANT"
ok "a write to the first pair waits for its first member" blocked ram0 $FIRST $SECOND
ok "a write to the first pair waits for its second member" blocked ram1 $FIRST $SECOND
ok "a write to the second pair waits for its first member" blocked ram2 $SECOND $FIRST
ok "a write to the second pair waits for its second member" blocked ram3 $SECOND $FIRST
ok "a write to the second pair waits for a replacement there" replacement
ok "a discard of all waits for the last member" discard ram3
ok "all modules can go" md_unload
