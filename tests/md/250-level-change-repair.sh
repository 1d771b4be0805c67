# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# This test will change the level while raid5 repairs what could not be read from a
# member, when the read has ended already: the stripe of the repair outlives it.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

MB=48
SECTORS=$((MB * 2048))
BAD=/sys/kernel/config/nullb/nullb0/badblocks

reads()
{
	dd if=/dev/md0 of=/dev/null bs=4k count=1 skip="$1" iflag=direct 2>/tmp/dd.log
}

# under_repair LEVEL: raid5 becomes LEVEL meanwhile
under_repair()
{
	create 5 --assume-clean --bitmap=none --data-offset=1M --raid-devices=3 \
		/dev/mapper/m0 /dev/ram1 /dev/ram2 || return
	md safe_mode_delay 0
	reads 0 || return
	# Twice: it is read again by way of the stripe. What repairs it takes its time.
	echo +2048-2055 >$BAD && reads 0 && echo -2048-2055 >$BAD || return
	md level "$1" || return
	usleep 4000000
	md_is level "$1" && reads 0 && stop
}

plan 2
try ramdisks 3 $MB
try null_disk 0 $MB
try modprobe dm-mod
try modprobe dm-delay
try dmsetup create m0 --table "0 $SECTORS delay /dev/nullb0 0 0 /dev/nullb0 0 2000"
try md_use "$VARIANT"
ok "raid5 becomes raid6 while a block is repaired" under_repair raid6
ok "all modules can go" md_unload
