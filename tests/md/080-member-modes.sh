# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# This test will see how the I/O of each member is counted, as the tracepoint
# tells, after everything that changes what a member is.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

TRACE=/sys/kernel/tracing

# mode MEMBER: percpu or atomic, as last told; atomic if never
mode()
{
	sed -n "s/.* dev-$1 [a-z]* -> \([a-z]*\) (\(.*\)) .*/\1/p" $TRACE/trace |
		tail -n 1 | grep . || echo atomic
}

is()
{
	[ "$(mode "$1")" = "$2" ]
}

# modes MODE MEMBER...: each of them is, after the grace period of a switch
modes()
{
	local mode=$1 member

	shift
	for member in "$@"; do
		until_true 5 is "$member" "$mode" || {
			grep "dev-$member " $TRACE/trace | tail -n 5 | sed 's/^/# /'
			return 1
		}
	done
}

# why MEMBER WORD: of its last switch
why()
{
	grep "dev-$1 " $TRACE/trace | tail -n 1 | grep -q "($2)"
}

mdadm_()
{
	mdadm --quiet "$@" 2>/tmp/mdadm.log || { cat /tmp/mdadm.log; return 1; }
}

slot()
{
	[ "$(cat "/sys/block/md0/md/dev-$1/slot")" = "$2" ]
}

new()
{
	echo >$TRACE/trace
	for d in $(disks 6); do
		mdadm --zero-superblock "$d" 2>/dev/null
	done
	try create "$@"
}

replace()
{
	mdadm_ /dev/md0 --add /dev/ram4 && mdadm_ /dev/md0 --replace /dev/ram1 --with /dev/ram4 &&
		until_true 60 grep -q faulty /sys/block/md0/md/dev-ram1/state && idle 60 && return
	cat /proc/mdstat
	return 1
}

grow_to()
{
	mdadm_ --grow /dev/md0 --raid-devices="$1" --backup-file=/tmp/backup"$1" && idle 120 &&
		md_is raid_disks "$1"
}

plan 47
md_use percpu
for m in raid0 raid1 raid10 raid456; do
	modprobe $m
done
echo 1 >$TRACE/events/md/md_pending_switch/enable
try ramdisks 6 32

new 1 --assume-clean --bitmap=internal --raid-devices=2 /dev/ram0 /dev/ram1 --spare-devices=1 /dev/ram2
ok "raid1: members count per CPU" modes percpu ram0 ram1
ok "raid1: a spare does not" modes atomic ram2
ok "raid1: read-only" mdadm_ --readonly /dev/md0
ok "raid1: no longer" modes atomic ram0 ram1
ok "raid1: for that reason" why ram0 read-only
ok "raid1: read-write" mdadm_ --readwrite /dev/md0
ok "raid1: again" modes percpu ram0 ram1
ok "raid1: fail a member" mdadm_ /dev/md0 --fail /dev/ram1
ok "raid1: it does not" modes atomic ram1
ok "raid1: for that reason" why ram1 faulty
ok "raid1: it leaves its slot by itself" until_true 10 slot ram1 none
ok "raid1: the spare recovers" idle 60
ok "raid1: and counts per CPU" modes percpu ram0 ram2
ok "raid1: fail and remove at once" mdadm_ /dev/md0 --fail /dev/ram2 --remove /dev/ram2
dd if=/dev/urandom of=/dev/md0 bs=64k count=1 2>/dev/null
ok "raid1: re-add" mdadm_ /dev/md0 --re-add /dev/ram2
ok "raid1: it recovers" idle 60
ok "raid1: and counts per CPU" modes percpu ram2
ok "raid1: stop" stop
ok "raid1: all atomic" modes atomic ram0 ram1 ram2

new 10 --assume-clean --bitmap=none --raid-devices=4 /dev/ram0 /dev/ram1 /dev/ram2 /dev/ram3
ok "raid10: members count per CPU" modes percpu ram0 ram1 ram2 ram3
ok "raid10: replace a member" replace
ok "raid10: the old one does not" modes atomic ram1
ok "raid10: the new one does, in its slot" modes percpu ram4
ok "raid10: in its slot" slot ram4 1
ok "raid10: stop" stop
ok "raid10: all atomic" modes atomic ram0 ram1 ram2 ram3 ram4

new 5 --assume-clean --bitmap=none --raid-devices=3 --size=16384 /dev/ram0 /dev/ram1 /dev/ram2
ok "raid5: members count per CPU" modes percpu ram0 ram1 ram2
mdadm_ /dev/md0 --add /dev/ram3
ok "raid5: the spare does not" modes atomic ram3
ok "raid5: grow by a member" grow_to 4
ok "raid5: it counts per CPU" modes percpu ram0 ram1 ram2 ram3
mdadm_ --grow /dev/md0 --array-size=32768
ok "raid5: shrink by a member" grow_to 3
ok "raid5: which leaves its slot" until_true 10 slot ram3 none
ok "raid5: and is atomic" modes atomic ram3
stop
# Not after a reshape: there, recovery of a replacement crawls at times, on stock as well.
new 5 --assume-clean --bitmap=none --raid-devices=3 --size=16384 /dev/ram0 /dev/ram1 /dev/ram2
ok "raid5: replace a member" replace
ok "raid5: the new one counts per CPU" modes percpu ram4
ok "raid5: stop" stop
ok "raid5: all atomic" modes atomic ram0 ram1 ram2 ram4

new 0 --raid-devices=2 --chunk=64 /dev/ram0 /dev/ram1
ok "raid0: atomic" modes atomic ram0 ram1
ok "raid0 to raid10" md level raid10
ok "members count per CPU" modes percpu ram0 ram1
ok "raid10 to raid0" md level raid0
ok "atomic again" modes atomic ram0 ram1
stop

new 1 --assume-clean --bitmap=none --raid-devices=2 --size=16384 /dev/ram0 /dev/ram1
ok "raid1 to raid5" md level raid5
ok "members count per CPU" modes percpu ram0 ram1
ok "raid5 to raid1" md level raid1
ok "members still do" modes percpu ram0 ram1
stop
ok "all modules can go" md_unload
