# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# This test will quiesce a raid5 array in every way that there is, over and over
# and from two sides at once, under reads and writes that are verified.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

SECONDS_EACH=4

# load: random reads and verified writes
load()
{
	fio --eta=never --output=/tmp/fio.log --filename=/dev/md0 --direct=1 --ioengine=libaio --bs=4k \
		--time_based --runtime=120 \
		--name=read --rw=randread --iodepth=32 --size=24m \
		--name=write --rw=randwrite --iodepth=8 --offset=24m --size=8m \
		--verify=crc32c --verify_backlog=64 --verify_fatal=1 &
	LOAD=$!
	usleep 300000
}

# load_ends: it went on all the time, and found no wrong data
load_ends()
{
	kill -0 $LOAD || { cat /tmp/fio.log; return 1; }
	kill -INT $LOAD
	wait $LOAD
	grep -qE 'err= *[1-9]|verify' /tmp/fio.log && { cat /tmp/fio.log; return 1; }
	awk '/IOPS=/ { print "# " $0; n++ } END { exit n < 2 }' /tmp/fio.log
}

# loop COMMAND...: for a while, three times at least; the first failure ends it
loop()
{
	local end n=0

	end=$(($(date +%s) + SECONDS_EACH))
	until [ "$(date +%s)" -ge $end ] && [ $n -ge 3 ]; do
		"$@" || return
		n=$((n + 1))
	done
	echo "# $n times: $*"
}

threads()
{
	md group_thread_cnt 2 && md group_thread_cnt 0
}

stripe_cache()
{
	md stripe_cache_size 64 && md stripe_cache_size 512
}

resize()
{
	md component_size 24576 && md component_size 24640
}

suspend_range()
{
	md suspend_lo 0 && md suspend_hi 4096 && usleep 20000 && md suspend_hi 0
}

sync_twice()
{
	md sync_action check && usleep 50000 && md sync_action idle
}

replace()
{
	mdadm --quiet /dev/md0 --fail /dev/ram2 &&
		until_true 20 mdadm --quiet /dev/md0 --remove /dev/ram2 2>/dev/null &&
		mdadm --quiet /dev/md0 --re-add /dev/ram2 && idle 60
}

both()
{
	local other

	(loop threads) &
	other=$!
	loop replace && wait $other
}

plan 9
md_use "$VARIANT"
try ramdisks 3 40
try create 5 --raid-devices=3 --assume-clean --bitmap=internal --size=24640 \
	/dev/ram0 /dev/ram1 /dev/ram2
load
ok "group_thread_cnt under load" loop threads
ok "stripe_cache_size under load" loop stripe_cache
ok "component_size under load" loop resize
ok "suspend_lo and suspend_hi under load" loop suspend_range
ok "check and idle under load" loop sync_twice
ok "fail, remove, re-add, recover under load" loop replace
ok "the last one beside group_thread_cnt" both
ok "I/O went on and found no wrong data" load_ends
ok "stop" stop
