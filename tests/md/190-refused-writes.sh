# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# program: tests/io/block.c
#
# This test will let members refuse a request as invalid: if all do, the caller is told so
# and no member suffers; if one does not, no old data is read from those that did. With
# stock md the caller is told that a write has succeeded that is nowhere.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

MB=64
SECTORS=$((MB * 2048))
# The block that is written, and where its memory is cut: see tests/io/block.c.
BLOCK=3
CUT=512

# member N lax|strict: /dev/mapper/mN, which takes requests that are cut, or not. The two
# do not have the same data.
member()
{
	local table

	table="0 $SECTORS linear /dev/nullb$1 0"
	[ "$2" = lax ] || table="0 $SECTORS linear /dev/nullb$((5 + $1)) 0"
	dm_table "m$1" "$table"
}

state()
{
	cat "/sys/block/md0/md/dev-dm-$1/state"
}

bad_blocks()
{
	cat "/sys/block/md0/md/dev-dm-$1/bad_blocks"
}

# array LEVEL OPTION...: of two members that are lax; the block is 1
array()
{
	local level=$1 i

	shift
	for i in 0 1 2; do
		member "$i" lax && dd if=/dev/zero of="/dev/mapper/m$i" bs=1M count=8 conv=fsync 2>/dev/null &&
			member "$i" strict && dd if=/dev/zero of="/dev/mapper/m$i" bs=1M count=8 conv=fsync 2>/dev/null &&
			member "$i" lax || return
	done
	create "$level" --assume-clean --raid-devices=2 /dev/mapper/m0 /dev/mapper/m1 "$@"
}

# reads BYTE DEVICE: that is what is read, however often
reads()
{
	local i got

	for i in $(seq 20); do
		got=$(/job/block read "$2" $BLOCK)
		[ "$got" = "$1" ] || { echo "# read $i is $got, not $1"; return 1; }
	done
}

# same: both members have the same data, as far as it can be read
same()
{
	md sync_action check && idle 20 || return
	[ "$(md mismatch_cnt)" = 0 ] || { echo "# mismatch: $(md mismatch_cnt)"; return 1; }
}

# invalid COMMAND...: it fails so
invalid()
{
	local got

	got=$("$@") && { echo "# succeeds: $*"; return 1; }
	[ "$got" = EINVAL ] || { echo "# $got: $*"; return 1; }
}

# all_well: no member has failed, no block is bad
all_well()
{
	[ "$(md degraded) $(bad_blocks 0)$(bad_blocks 1)" = "0 " ] && return
	echo "# degraded: $(md degraded), bad blocks: $(bad_blocks 0) $(bad_blocks 1)"
	return 1
}

# all_refuse LEVEL OPTION...
all_refuse()
{
	array "$@" && member 0 strict && member 1 strict &&
		/job/block write /dev/md0 $BLOCK 1 && reads 1 /dev/md0 || return
	invalid /job/block write /dev/md0 $BLOCK 2 $CUT && all_well && reads 1 /dev/md0 &&
		/job/block write /dev/md0 $BLOCK 3 && reads 3 /dev/md0 && same && all_well
	set -- $?
	stop && return "$1"
}

# read_refused LEVEL OPTION...: the same for a read
read_refused()
{
	array "$@" && member 0 strict && member 1 strict &&
		/job/block write /dev/md0 $BLOCK 1 || return
	invalid /job/block read /dev/md0 $BLOCK $CUT && all_well && reads 1 /dev/md0
	set -- $?
	stop && return "$1"
}

# one_refuses LEVEL OPTION...: it is known where it has old data, until that is written
one_refuses()
{
	array "$@" && member 1 strict && /job/block write /dev/md0 $BLOCK 1 &&
		reads 1 /dev/md0 || return
	/job/block write /dev/md0 $BLOCK 2 $CUT && reads 2 /dev/md0 && same &&
		[ "$(md degraded)" = 0 ] && [ -n "$(bad_blocks 1)" ] &&
		/job/block write /dev/md0 $BLOCK 3 && reads 3 /dev/md0 && same && all_well
	set -- $?
	stop && return "$1"
}

# replacing: a raid10 whose second member is being replaced, slowly
replacing()
{
	array 10 --bitmap=none || return
	echo 100 >/sys/block/md0/md/sync_speed_min
	echo 100 >/sys/block/md0/md/sync_speed_max
	mdadm --quiet /dev/md0 --add /dev/mapper/m2 &&
		mdadm --quiet /dev/md0 --replace /dev/mapper/m1 --with /dev/mapper/m2 &&
		until_true 10 grep -q recovery /proc/mdstat
}

# replacement_refuses: it fails, and is no trouble for others
replacement_refuses()
{
	replacing && member 2 strict &&
		/job/block write /dev/md0 $BLOCK 1 && ! state 2 | grep -q faulty || return
	/job/block write /dev/md0 $BLOCK 2 $CUT && state 2 | grep -q faulty &&
		reads 2 /dev/md0 && all_well
	set -- $?
	stop && return "$1"
}

# all_refuse_replacement: it does not fail
all_refuse_replacement()
{
	replacing && member 0 strict && member 1 strict && member 2 strict || return
	invalid /job/block write /dev/md0 $BLOCK 2 $CUT && all_well &&
		! state 2 | grep -q faulty
	set -- $?
	stop && return "$1"
}

# lvm LEVEL DISK DISK STATUS: a target of dm-raid as LVM makes them, with metadata and
# without bad blocks, of disks that need not be equal
lvm()
{
	local params="raid1 2 0 nosync" i rc=1

	[ "$1" = 1 ] || params="raid10 4 128 nosync raid10_copies 2"
	for i in 0 1; do
		dd if=/dev/zero of=/dev/ram$i bs=1M count=4 conv=fsync 2>/dev/null
	done
	dmsetup create lv --table "0 $SECTORS raid $params 2 /dev/ram0 $2 /dev/ram1 $3" || return
	if /job/block write /dev/mapper/lv $BLOCK 1 && reads 1 /dev/mapper/lv; then
		if [ "$4" = AA ]; then
			invalid /job/block write /dev/mapper/lv $BLOCK 2 $CUT && reads 1 /dev/mapper/lv
		else
			/job/block write /dev/mapper/lv $BLOCK 2 $CUT && reads 2 /dev/mapper/lv
		fi
		rc=$?
	fi
	dmsetup status lv | grep -q " $4 " || { dmsetup status lv; rc=1; }
	dmsetup remove lv && return $rc
}

plan 15
try modprobe dm-mod
try ramdisks 2 4
for i in 0 1 2 3 4; do
	try null_disk "$i" $MB blocksize=4096
	try null_disk "$((5 + i))" $MB blocksize=4096 virt_boundary=1
done
# The first member's number among the dm disks is 0.
for i in 0 1 2; do
	try member "$i" lax
done
try md_use "$VARIANT"
try modprobe dm-raid
ok "raid1: a write that all members refuse" all_refuse 1 --bitmap=none
ok "raid10: a write that all members refuse" all_refuse 10 --bitmap=none
ok "raid1 with a bitmap: a write that all members refuse" all_refuse 1 --bitmap=internal
ok "raid1: a read that all members refuse" read_refused 1 --bitmap=none
ok "raid10: a read that all members refuse" read_refused 10 --bitmap=none
ok "raid1 of FailFast members: a read that all members refuse" read_refused 1 --bitmap=none --failfast
ok "raid1: a write that one member refuses" one_refuses 1 --bitmap=none
ok "raid10: a write that one member refuses" one_refuses 10 --bitmap=none
ok "raid10: a write that a replacement refuses" replacement_refuses
ok "raid10: a write that all and a replacement refuse" all_refuse_replacement
ok "raid1 of LVM: a write that all members refuse" lvm 1 /dev/nullb8 /dev/nullb9 AA
ok "raid1 of LVM: a write that one member refuses" lvm 1 /dev/nullb3 /dev/nullb9 AD
ok "raid10 of LVM: a write that all members refuse" lvm 10 /dev/nullb8 /dev/nullb9 AA
ok "raid10 of LVM: a write that one member refuses" lvm 10 /dev/nullb3 /dev/nullb9 AD
ok "all modules can go" md_unload
