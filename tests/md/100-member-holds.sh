# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# This test will fail a member that holds I/O, on both sets, and see that it stays in
# its slot until the I/O ends and leaves it then, while the array goes on.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

# holds VARIANT: a member that holds its I/O stays in its slot until that ends, and
# leaves it then; reads of the other member go on meanwhile
holds()
{
	md_use "$1" && modprobe dm-mod || return
	[ -e /dev/mapper/held ] ||
		dmsetup create held --table "0 65536 linear /dev/ram1 0" || return
	create 1 --assume-clean --bitmap=none --raid-devices=2 /dev/mapper/held /dev/ram0 || return
	dmsetup suspend --noflush --nolockfs held
	# Reads that it will hold. Then it fails.
	fio --eta=never --output=/tmp/held.log --name=held --filename=/dev/md0 --direct=1 --rw=randread --bs=4k \
		--ioengine=libaio --iodepth=4 --number_ios=8 &
	until_true 20 held || return
	mdadm --quiet /dev/md0 --fail /dev/mapper/held || return
	fio --eta=never --output=/tmp/served.log --name=served --filename=/dev/md0 --direct=1 \
		--rw=randread --bs=4k --ioengine=libaio --iodepth=4 --time_based --runtime=2 || return
	! slot_none || return
	dmsetup resume held
	until_true 10 slot_none && wait && stop
}

# held: a read stays on that member
held()
{
	[ "$(awk '{ print $1 }' /sys/block/md0/inflight)" -ge 1 ] && usleep 200000 &&
		[ "$(awk '{ print $1 }' /sys/block/md0/inflight)" -ge 1 ]
}

slot_none()
{
	[ "$(cat /sys/block/md0/md/dev-dm-0/slot)" = none ]
}

plan 3
try ramdisks 2 32
ok "stock: a member that holds its I/O is removed after that" holds stock
ok "percpu: a member that holds its I/O is removed after that" holds percpu
ok "all modules can go" md_unload
