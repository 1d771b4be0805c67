# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# This test will let the discard of one member of raid10 fail while that of the other
# one clears a bad block; stock md takes the former for a write to be repeated.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

MB=64

# discard: 64 KiB, which takes the way of a write
discard()
{
	local dir=/sys/block/md0/md start fail=/sys/kernel/config/nullb/nullb1/badblocks

	create 10 --assume-clean --bitmap=none --chunk=64 --raid-devices=2 /dev/nullb0 /dev/nullb1 || return
	start=$(($(md dev-nullb0/offset) + 8))
	echo "$start 8" >$dir/dev-nullb0/bad_blocks &&
		echo "+$start-$((start + 7))" >$fail || return
	blkdiscard -o 0 -l 65536 /dev/md0
	set -- $?
	echo "-$start-$((start + 7))" >$fail
	echo "# degraded: $(md degraded), bad blocks: $(cat $dir/dev-nullb0/bad_blocks $dir/dev-nullb1/bad_blocks)"
	[ "$1$(md degraded)$(cat $dir/dev-nullb0/bad_blocks $dir/dev-nullb1/bad_blocks)" = 00 ]
}

# removable: no reference is left over, and none is missing
removable()
{
	mdadm --quiet /dev/md0 --fail /dev/nullb1 &&
		until_true 10 mdadm --quiet /dev/md0 --remove /dev/nullb1 2>/dev/null && stop
}

plan 3
try null_disk 0 $MB discard=1
try null_disk 1 $MB discard=1
try md_use "$VARIANT"
ok "a discard that one member does not do is no write error" discard
ok "the member can be removed" removable
ok "all modules can go" md_unload
