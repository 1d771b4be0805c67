# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# This test will let a read of raid1 fail, so that the thread of the array reads from the
# write-mostly member instead, while writes to that one are behind: the thread must not
# wait for what it has to submit itself. Stock stands still for ever.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

MB=48
SECTORS=$((MB * 2048))
BAD=/sys/kernel/config/nullb/nullb0/badblocks

state()
{
	echo "$2" >"/sys/block/md0/md/dev-$1/state"
}

# read_and_write: one read that fails on the first member, under load
read_and_write()
{
	local load reader

	echo "-0-$((SECTORS - 1))" >$BAD
	create 1 --assume-clean --bitmap=internal --bitmap-chunk=64M --write-behind=4096 \
		--data-offset=1M --raid-devices=2 /dev/nullb0 --write-mostly /dev/mapper/m1 || return
	md safe_mode_delay 0
	state nullb0 failfast || return
	grep -q write_mostly /sys/block/md0/md/dev-dm-*/state || return
	fio --eta=never --output=/tmp/load.log --name=load --filename=/dev/md0 --direct=1 --bs=4k \
		--rw=randwrite --ioengine=psync --thread --numjobs=16 --group_reporting \
		--time_based --runtime=4 --offset=4m --size=24m &
	load=$!
	usleep 1500000
	echo "+2048-2055" >$BAD || return
	dd if=/dev/md0 of=/dev/null bs=4k count=1 iflag=direct 2>/tmp/dd.log &
	reader=$!
	until_true 15 gone $reader || { cat /proc/mdstat; return 1; }
	wait $reader && until_true 20 gone $load && wait $load || return
	grep -q faulty /sys/block/md0/md/dev-nullb0/state && stop
}

several()
{
	local i

	for i in 1 2 3 4 5; do
		read_and_write || { echo "# in round $i"; return 1; }
	done
}

plan 2
try null_disk 0 $MB
try ramdisks 1 $MB
try modprobe dm-mod
try modprobe dm-delay
try dmsetup create m1 --table "0 $SECTORS delay /dev/ram0 0 0 /dev/ram0 0 20"
try md_use "$VARIANT"
ok "a read that fails is done by the write-mostly member" several
ok "all modules can go" md_unload
