# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# program: tests/flush/records.c
#
# This test will have 64 threads make records durable in a file system, on members that
# flush late and on ones without a cache, while the array is suspended, its members,
# bitmap and sizes change: no record is lost, nothing hangs, active_io is not leaked.
# Also while half of the allocations that must not wait fail, on a kernel that can.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

SECONDS_EACH=${SECONDS_EACH:-8}
THREADS=64

# what happens meanwhile, each in a loop of its own until /tmp/end is there

loop()
{
	until [ -e /tmp/end ]; do
		"$@" || { echo "$*" >>/tmp/loop-failed; return; }
	done
}

suspended()
{
	md suspend_hi 131072 && md suspend_lo 0 && usleep 20000 &&
		md suspend_lo 131072 && md suspend_hi 0 && usleep 20000
}

bitmap()
{
	mdadm --quiet --grow /dev/md0 --bitmap=internal 2>/tmp/bitmap.log
	mdadm --quiet --grow /dev/md0 --bitmap=none 2>/tmp/bitmap.log
	usleep 50000
}

member()
{
	mdadm --quiet /dev/md0 --fail "$1" 2>/tmp/member.log
	until mdadm --quiet /dev/md0 --remove "$1" 2>/tmp/member.log; do
		grep -q busy /tmp/member.log || return
		[ ! -e /tmp/end ] || return 0
	done
	mdadm --quiet --zero-superblock "$1" && mdadm --quiet /dev/md0 --add "$1" 2>/tmp/member.log
	usleep 300000
}

sizes()
{
	md stripe_cache_size 512 && md group_thread_cnt 2 && usleep 20000 &&
		md stripe_cache_size 256 && md group_thread_cnt 0 && usleep 20000
}

# loops LOOPS LEVEL DISK N OPTION...
loops()
{
	local what=$1 level=$2 disk=$3 n=$4 devs i bg="" rc=0

	shift 4
	devs=$(disks "$n" "/dev/$disk")
	for i in $devs; do
		mdadm --quiet --zero-superblock "$i" 2>/dev/null
	done
	# shellcheck disable=SC2086 # words
	create "$level" "$@" --raid-devices="$n" $devs || return
	mkfs.ext4 -q -F /dev/md0 && mount -t ext4 /dev/md0 /mnt || return
	rm -f /tmp/end /tmp/loop-failed /tmp/acks
	/job/records write /mnt /tmp/acks $THREADS &
	writer=$!
	for i in $what; do
		loop "$i" "/dev/${disk}1" &
		bg="$bg $!"
	done
	sleep "$SECONDS_EACH"
	grep -q '^State:.*[RSD] ' "/proc/$writer/status" || { echo "# the writers have met an error"; rc=1; }
	touch /tmp/end
	# shellcheck disable=SC2086 # words
	wait $bg
	kill "$writer"
	wait "$writer"
	[ ! -e /tmp/loop-failed ] || { echo "# failed: $(cat /tmp/loop-failed)"; rc=1; }
	umount /mnt && mount -t ext4 /dev/md0 /mnt || return
	/job/records check /mnt /tmp/acks $THREADS >/tmp/check || rc=1
	echo "# raid$level on $disk: $(cat /tmp/check)"
	# It could not be suspended, for a leak.
	umount /mnt && idle 60 && suspended && stop || rc=1
	return $rc
}

# no_memory LEVEL...: loops, while what the mempools ask the allocators for fails
no_memory()
{
	local f rc

	for f in /sys/kernel/debug/failslab /sys/kernel/debug/fail_page_alloc; do
		echo -1 >$f/times && echo Y >$f/ignore-gfp-wait && echo 0 >$f/verbose &&
			echo 50 >$f/probability || return
	done
	loops "$@"
	rc=$?
	for f in /sys/kernel/debug/failslab /sys/kernel/debug/fail_page_alloc; do
		echo 0 >$f/probability
	done
	return $rc
}

if [ -d /sys/kernel/debug/failslab ]; then
	plan 10
else
	plan 7
fi
md_use "$VARIANT"
try ramdisks 4 48
for i in 0 1 2 3; do
	try null_disk "$i" 48 cache_size=16 irqmode=2 completion_nsec=100000
done
# Not sizes beside member: stock's raid5 may wait for ever there, with reconfig_mutex
# held, for a resync that waits for the metadata to tell that the member has failed.
ok "raid1, no cache" loops "suspended bitmap member" 1 ram 3 --assume-clean --bitmap=none
ok "raid1, late" loops "suspended bitmap member" 1 nullb 3 --assume-clean --bitmap=none
ok "raid10, late" loops "suspended bitmap member" 10 nullb 4 --assume-clean --bitmap=none
ok "raid5, no cache" loops "suspended bitmap sizes" 5 ram 3 --assume-clean --bitmap=none
ok "raid5, late" loops "suspended bitmap sizes" 5 nullb 3 --assume-clean --bitmap=none
ok "raid5, a member fails" loops "suspended bitmap member" 5 nullb 3 --assume-clean --bitmap=none
if [ -d /sys/kernel/debug/failslab ]; then
	ok "raid1, allocations fail" no_memory "suspended bitmap member" 1 nullb 3 --assume-clean --bitmap=none
	ok "raid10, allocations fail" no_memory "suspended bitmap member" 10 nullb 4 --assume-clean --bitmap=none
	ok "raid5, allocations fail" no_memory "suspended bitmap sizes" 5 nullb 3 --assume-clean --bitmap=none
fi
ok "all modules can go" md_unload
