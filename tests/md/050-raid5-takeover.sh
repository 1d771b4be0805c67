# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# This test will change the level and the number of members under load: raid0 to
# raid5, raid5 to raid6 and back, raid5 to raid0, raid5 grown by a member. The
# counter of aligned reads must count per CPU after each, and quiesce must work.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

TRACE=/sys/kernel/tracing

load()
{
	fio --eta=never --output=/tmp/fio.log --name=read --filename=/dev/md0 --direct=1 \
		--ioengine=libaio --bs=4k --rw=randread --iodepth=32 --size=16m \
		--time_based --runtime=300 &
	LOAD=$!
	usleep 300000
}

load_ends()
{
	kill -0 $LOAD || { cat /tmp/fio.log; return 1; }
	kill -INT $LOAD
	wait $LOAD
	! grep -E 'err= *[1-9]' /tmp/fio.log
}

# level_is LEVEL: with the counter per CPU, where there is one
level_is()
{
	md_is level "$1" || { echo "# level $(md level)"; return 1; }
	case $1 in
	raid0) return ;;
	esac
	md group_thread_cnt 1 && md group_thread_cnt 0 || return
	[ "$VARIANT" = percpu ] || return 0
	# The counter of the level before goes last.
	sed -n '/(free)/d; s/.*aligned_reads [a-z]* -> \([a-z]*\) (\([a-z]*\)).*/\1 \2/p' $TRACE/trace |
		tail -n 1 | grep -q '^percpu '
}

change_level()
{
	md level "$1" && idle 120 && level_is "$1"
}

grow()
{
	mdadm --quiet /dev/md0 --add /dev/ram4 &&
		mdadm --quiet --grow /dev/md0 --raid-devices=4 --backup-file=/tmp/backup &&
		idle 120 && md_is raid_disks 4 && md_is reshape_position none && level_is raid5
}

checksum()
{
	dd if=/dev/md0 bs=1M count=16 iflag=direct 2>/dev/null | md5sum
}

same()
{
	[ "$(checksum)" = "$BEFORE" ]
}

plan 11
md_use "$VARIANT"
modprobe raid456
modprobe raid0
[ "$VARIANT" != percpu ] || echo 1 >$TRACE/events/md/md_pending_switch/enable
try ramdisks 6 32

try create 0 --raid-devices=3 --chunk=64 /dev/ram0 /dev/ram1 /dev/ram2
dd if=/dev/urandom of=/dev/md0 bs=1M count=16 2>/dev/null
BEFORE=$(checksum)
load
ok "raid0 to raid5, degraded" change_level raid5
mdadm --quiet /dev/md0 --add /dev/ram3
ok "it recovers" idle 120
ok "raid5 after recovery" level_is raid5
ok "raid5 to raid6" change_level raid6
ok "raid6 to raid5" change_level raid5
ok "reads went on" load_ends
ok "the data is the same" same
ok "stop" stop

try create 5 --raid-devices=3 --assume-clean --bitmap=none --size=20480 \
	/dev/ram0 /dev/ram1 /dev/ram2
dd if=/dev/urandom of=/dev/md0 bs=1M count=16 2>/dev/null
BEFORE=$(checksum)
load
ok "raid5 grows by a member" grow
ok "reads went on" load_ends
ok "the data is the same" same
stop
