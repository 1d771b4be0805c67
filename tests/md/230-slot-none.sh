# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# This test will set the slot of a member that has failed to "none" while a write is under
# way at another one: it waits for the write, since submitters may be looking at the slot.
# Stock does not.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

MB=48
DATA=16384 # sectors: what comes before is metadata
DELAY=2000 # ms, of a write behind it

# slot_none LEVEL N OPTION...: a member fails, and leaves its slot while a write is held
slot_none()
{
	local level=$1 n=$2 write t0 took slot

	shift 2
	# shellcheck disable=SC2046 # words
	create "$level" "$@" --assume-clean --bitmap=none --raid-devices="$n" $(disks $((n - 1))) /dev/mapper/slow || return
	# md must not take it out by itself, nor write the metadata.
	md sync_action frozen && md safe_mode_delay 0 || return
	# All chunks of a raid10 get one.
	dd if=/dev/zero of=/dev/md0 bs=1M count=1 seek=20 oflag=direct 2>/dev/null &
	write=$!
	usleep 400000
	slot=/sys/block/md0/md/dev-ram0/slot
	mdadm --quiet /dev/md0 --fail /dev/ram0 || return
	usleep 100000
	t0=$(now_ms)
	echo none >$slot || return
	took=$(($(now_ms) - t0))
	echo "# raid$level: took $took ms"
	wait $write && [ "$(cat $slot)" = none ] && stop && [ $took -ge $((DELAY / 3)) ]
}

plan 3
try ramdisks 4 $MB
try md_use "$VARIANT"
try modprobe dm-mod
try modprobe dm-delay
try dmsetup create slow <<-END
	0 $DATA linear /dev/ram3 0
	$DATA $((MB * 2048 - DATA)) delay /dev/ram3 $DATA 0 /dev/ram3 $DATA $DELAY
END
ok "raid1: slot none waits for a write" slot_none 1 2
ok "raid10: slot none waits for a write" slot_none 10 4 --chunk=64
ok "all modules can go" md_unload
