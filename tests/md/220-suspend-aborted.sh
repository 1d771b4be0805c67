# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# This test will kill a process that waits until the array is suspended, while I/O is
# held by the members: other I/O that has come meanwhile ends as soon as theirs.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

# members suspend|resume: /dev/mapper/m0 and m1 hold I/O or not
members()
{
	local i opt=

	[ "$1" = resume ] || opt="--noflush --nolockfs"
	for i in 0 1; do
		# shellcheck disable=SC2086 # words
		dmsetup "$1" $opt "m$i" || return
	done
}

# io OP SECTOR: in the background, as $IO
io()
{
	case $1 in
	read) dd if=/dev/md0 of=/dev/null bs=4k count=1 skip="$2" iflag=direct 2>/tmp/dd.log & ;;
	write) dd if=/dev/zero of=/dev/md0 bs=4k count=1 seek="$2" oflag=direct 2>/tmp/dd.log & ;;
	esac
	IO=$!
}

# aborted LEVEL OPTION...: nobody but the one who gave up could wake up the second read
aborted()
{
	local level=$1 first second writer

	shift
	create "$level" "$@" --raid-devices=2 /dev/mapper/m0 /dev/mapper/m1 || return
	md safe_mode_delay 0
	members suspend || return
	io read 100
	first=$IO
	usleep 300000
	sh -c 'echo 0 >/sys/block/md0/md/suspend_lo' &
	writer=$!
	usleep 300000
	io read 200
	second=$IO
	usleep 300000
	! gone $first && ! gone $writer && ! gone $second || return
	kill -KILL $writer
	until_true 5 gone $writer || return
	members resume || return
	until_true 5 gone $first || return
	until_true 5 gone $second && stop && return
	echo "# $(tr '\n' ' ' <"/proc/$second/stack")"
	# What it waits for has come, and whoever wakes it up frees it.
	md suspend_lo 0
	until_true 5 gone $second && echo "# it was woken up by something else"
	stop
	return 1
}

plan 3
try modprobe dm-mod
try ramdisks 2 48
for i in 0 1; do
	try dmsetup create "m$i" --table "0 98304 linear /dev/ram$i 0"
done
try md_use "$VARIANT"
ok "raid1: I/O goes on after a suspend was aborted" aborted 1 --assume-clean --bitmap=none
ok "raid10: I/O goes on after a suspend was aborted" aborted 10 --assume-clean --bitmap=none
ok "all modules can go" md_unload
