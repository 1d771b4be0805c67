# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# This test will create an array of each level, write to it, fail, remove and
# re-add a member, wait for recovery, stop and assemble, and find its data.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

# data write|read: random data with checksums over the whole array, or find it
data()
{
	fio --eta=never --name=data --filename=/dev/md0 --rw=randwrite --bs=16k --size=24m \
		--ioengine=libaio --iodepth=16 --direct=1 --verify=crc32c \
		--verify_fatal=1 "$2" --output=/tmp/fio.log || { cat /tmp/fio.log; false; }
}

# lifecycle LEVEL MEMBERS OPTION...
lifecycle()
{
	local level=$1 n=$2 disks

	shift 2
	disks=$(disks "$n")
	# shellcheck disable=SC2086 # a list
	ok "raid$level: create" create "$level" "$@" --raid-devices="$n" $disks || exit
	ok "raid$level: write" data write --do_verify=1
	if [ "$level" != 0 ]; then
		idle 60
		ok "raid$level: fail a member" mdadm --quiet /dev/md0 --fail /dev/ram1
		ok "raid$level: write degraded" data write --do_verify=1
		ok "raid$level: remove it" until_true 10 mdadm --quiet /dev/md0 --remove /dev/ram1
		mdadm --zero-superblock /dev/ram1
		ok "raid$level: add it" mdadm --quiet /dev/md0 --add /dev/ram1
		ok "raid$level: recovery ends" idle 60
		ok "raid$level: not degraded" md_is degraded 0
	fi
	ok "raid$level: stop" stop || exit
	# shellcheck disable=SC2086 # a list
	ok "raid$level: assemble" mdadm --quiet --assemble /dev/md0 $disks || exit
	ok "raid$level: the data is there" data read --verify_only=1
	if [ "$level" != 0 ]; then
		echo check >/sys/block/md0/md/sync_action
		idle 60
		ok "raid$level: the members agree" md_is mismatch_cnt 0
	fi
	stop
}

plan 53
md_use "$VARIANT"
try ramdisks 4 32
lifecycle 0 3
lifecycle 1 2 --bitmap=none
lifecycle 10 4 --bitmap=internal
lifecycle 5 3 --bitmap=internal
lifecycle 6 4 --bitmap=none
