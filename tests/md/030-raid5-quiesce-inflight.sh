# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# This test will hold aligned reads in flight on members that are slow to read
# and see that raid5_quiesce() returns only after them, on both sets; on ours,
# that their counter is per CPU in normal running, and atomic while quiesced.
#
# It quiesces by shrinking an array that has a bitmap: few other callers neither
# suspend the array first, which would wait for the reads as well, nor read.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

TRACE=/sys/kernel/tracing
DELAY=1500
SIZE=16384

# disks_delay MS: reads of the members take that long from now on
disks_delay()
{
	local i

	for i in 0 1 2; do
		dmsetup load d$i --table "0 65536 delay /dev/ram$i 0 $1 /dev/ram$i 0 0" &&
			dmsetup resume d$i || return
	done
}

disks_make()
{
	local i

	modprobe dm-mod && modprobe dm-delay || return
	for i in 0 1 2; do
		dmsetup create d$i --table "0 65536 delay /dev/ram$i 0 0" || return
	done
}

disks_remove()
{
	dmsetup remove d0 && dmsetup remove d1 && dmsetup remove d2
}

# quiesce: and say how long it took, in ms, in TOOK
quiesce()
{
	local start

	SIZE=$((SIZE - 64))
	start=$(awk '{ print int($1 * 1000) }' /proc/uptime)
	md component_size $SIZE || return
	TOOK=$(($(awk '{ print int($1 * 1000) }' /proc/uptime) - start))
	echo "# quiesced within $TOOK ms"
}

quick()
{
	quiesce && [ "$TOOK" -lt 700 ]
}

# waits N: with N reads in flight; true if it returned after all of them
waits()
{
	local i pids=""

	for i in $(seq "$1"); do
		dd if=/dev/md0 of=/dev/null bs=4k count=1 skip=$((i * 100)) iflag=direct 2>/dev/null &
		pids="$pids $!"
	done
	usleep 300000
	quiesce || return
	# They are over, but for their way up from the completion.
	usleep 500000
	for i in $pids; do
		! kill -0 "$i" 2>/dev/null || return
	done
	[ "$TOOK" -ge $((DELAY - 600)) ]
}

# mode_changes: the counter's modes in turn, as the tracepoint told them
mode_changes()
{
	sed -n 's/.*aligned_reads \([a-z]* -> [a-z]* ([a-z]*)\).*/\1/p' $TRACE/trace
}

# modes_end MODE-CHANGE: the last one
modes_end()
{
	[ "$(mode_changes | tail -n 1)" = "$1" ]
}

# modes_are MODE-CHANGE...: these and no others
modes_are()
{
	mode_changes >/tmp/modes
	printf '%s\n' "$@" >/tmp/want
	cmp /tmp/want /tmp/modes || { cat /tmp/modes; false; }
}

each_set()
{
	try create 5 --raid-devices=3 --assume-clean --bitmap=internal --size=$SIZE \
		/dev/mapper/d0 /dev/mapper/d1 /dev/mapper/d2
	ok "$set: an idle array is quiesced at once" quick
	try disks_delay $DELAY
	ok "$set: quiesce waits for a read" waits 1
	ok "$set: quiesce waits for twenty" waits 20
	try disks_delay 0
	ok "$set: reads go on afterwards" \
		dd if=/dev/md0 of=/dev/null bs=64k count=64 iflag=direct
	ok "$set: stop" stop
}

plan 13
try ramdisks 3 32
try disks_make
for set in stock percpu; do
	md_use $set || exit
	if [ $set = percpu ]; then
		modprobe md-mod
		echo 1 >$TRACE/events/md/md_pending_switch/enable
	fi
	SIZE=16384
	each_set
done

# The last test again, with nothing in flight, watched closely.
try create 5 --raid-devices=3 --assume-clean --bitmap=internal --size=16384 \
	/dev/mapper/d0 /dev/mapper/d1 /dev/mapper/d2
cp $TRACE/trace /results/trace
ok "percpu: a new array counts per CPU" modes_end 'atomic -> percpu (setup)'
echo >$TRACE/trace
SIZE=16384
quiesce
ok "percpu: atomic while quiesced, per CPU again afterwards" modes_are \
	'percpu -> switching (quiesce)' 'switching -> atomic (quiesce)' \
	'atomic -> percpu (resume)'
stop
ok "percpu: the members are not held" disks_remove
