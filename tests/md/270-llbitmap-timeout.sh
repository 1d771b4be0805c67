# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# This test will let the daemon of the lockless bitmap give up, since a write takes too
# long, while other writes wait for it: they go on. On stock they sleep until the daemon
# has its way with that page another time.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

MB=96
OFFSET=$((32 * 2048))	# sectors: what is before it is metadata, and after it data

# write_at MB
write_at()
{
	dd if=/dev/zero of=/dev/md0 bs=4k count=1 seek=$(($1 * 256)) oflag=direct conv=notrunc 2>/dev/null
}

# all_gone PID...
all_gone()
{
	local pid

	for pid; do
		gone "$pid" || return
	done
}

# waits: writes that come while the daemon waits for one that takes 6 s
waits()
{
	local i pids=""

	dmsetup create slow <<-END || return
		0 $OFFSET linear /dev/nullb0 0
		$OFFSET $((MB * 2048 - OFFSET)) delay /dev/nullb0 $OFFSET 0 /dev/nullb0 $OFFSET 6000
	END
	create 1 --bitmap=lockless --raid-devices=2 /dev/mapper/slow /dev/nullb1 && idle 60 || return
	md llbitmap/daemon_sleep 1 && md llbitmap/barrier_idle 1 || return
	write_at 40 &
	pids=$!
	# It looks after a second, and waits for another one. No write comes after that,
	# so that it does not look again.
	for i in 1 2 3; do
		usleep $((i == 1 ? 1350000 : 150000))
		write_at $((40 + i)) &
		pids="$pids $!"
	done
	# shellcheck disable=SC2086 # words
	until_true 20 all_gone $pids
	i=$?
	dmesg | grep -q "waiting for page 0 timeout" || { echo "# the daemon did not give up"; return 1; }
	# On stock, it looks again for this one.
	[ $i = 0 ] || write_at 60
	wait
	stop && dmsetup remove slow && return $i
}

plan 2
md_use "$VARIANT"
try modprobe dm-mod
try modprobe dm-delay
try null_disk 0 $MB
try null_disk 1 $MB
ok "writes go on when the daemon has given up" waits
ok "all modules can go" md_unload
