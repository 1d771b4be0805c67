# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# alone: it compares times
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

# holds_for VARIANT SECONDS: reads of a member take so long; it fails meanwhile, leaves
# its slot when they have ended, and not much later, and the array goes on
holds_for()
{
	local t0 t1 held

	md_use "$1" && modprobe dm-mod && modprobe dm-delay || return
	create 1 --assume-clean --bitmap=none --raid-devices=2 /dev/mapper/held /dev/ram0 || return
	dmsetup reload held --table "0 65536 delay /dev/ram1 0 $(($2 * 1000)) /dev/ram1 0 0" &&
		dmsetup suspend held && dmsetup resume held || return
	t0=$(awk '{ print int($1 * 10) }' /proc/uptime)
	fio --eta=never --output=/tmp/held.log --name=held --filename=/dev/md0 --direct=1 --rw=randread --bs=4k \
		--ioengine=libaio --iodepth=4 --number_ios=8 &
	until_true 20 held || return
	# Not before it has begun, however long fio takes to start.
	held=$(awk '{ print int($1 * 10) }' /proc/uptime)
	mdadm --quiet /dev/md0 --fail /dev/mapper/held || return
	fio --eta=never --output=/tmp/served.log --name=served --filename=/dev/md0 --direct=1 \
		--rw=randread --bs=4k --ioengine=libaio --iodepth=4 --time_based --runtime=2 || return
	! slot_none && until_true $(($2 + 10)) slot_none || return
	t1=$(awk '{ print int($1 * 10) }' /proc/uptime)
	echo "# $1: out of its slot after $(((t1 - t0) / 10)).$(((t1 - t0) % 10)) s"
	wait
	dmsetup reload held --table "0 65536 linear /dev/ram1 0" && dmsetup suspend held &&
		dmsetup resume held && stop || return
	[ $((t1 - t0)) -ge $(($2 * 10)) ] && [ $((t1 - held)) -le $(($2 * 10 + 15)) ]
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

plan 5
try ramdisks 2 32
ok "stock: a member that holds its I/O is removed after that" holds stock
ok "percpu: a member that holds its I/O is removed after that" holds percpu
ok "stock: one that holds it for 10 s is removed after 10 s" holds_for stock 10
ok "percpu: one that holds it for 10 s is removed after 10 s" holds_for percpu 10
ok "all modules can go" md_unload
