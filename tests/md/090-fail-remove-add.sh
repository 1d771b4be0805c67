# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# alone: it compares times
#
# This test will fail, remove and add a member without a pause under load, TURNS
# times at each level, on both sets: as few EBUSY as stock.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

TURNS=${TURNS:-10}
[ -z "$LONG" ] || TURNS=200

load()
{
	fio --eta=never --output=/tmp/fio.log --filename=/dev/md0 --direct=1 --ioengine=libaio \
		--bs=4k --rw=randrw --iodepth=8 --numjobs=2 --time_based --runtime=900 \
		--name=load &
	LOAD=$!
	usleep 300000
}

load_ends()
{
	kill -0 "$LOAD" || { cat /tmp/fio.log; return 1; }
	kill -INT "$LOAD"
	wait "$LOAD"
	! grep -E 'err= *[1-9]' /tmp/fio.log
}

# turns MEMBER: BUSY is how often it could not be removed at once, TOOK ms a turn
turns()
{
	local n=0 start

	BUSY=0
	start=$(now_ms)
	while [ $n -lt "$TURNS" ]; do
		n=$((n + 1))
		mdadm --quiet /dev/md0 --fail "$1" || return
		until mdadm --quiet /dev/md0 --remove "$1" 2>/tmp/mdadm.log; do
			BUSY=$((BUSY + 1))
			if [ $BUSY -gt 500 ] || ! grep -q busy /tmp/mdadm.log; then
				cat /tmp/mdadm.log
				return 1
			fi
		done
		mdadm --zero-superblock "$1"
		mdadm --quiet /dev/md0 --add "$1" || return
	done
	TOOK=$((($(now_ms) - start) / TURNS))
}

# level VARIANT LEVEL OPTION...
level()
{
	local variant=$1 level=$2 rc

	shift 2
	md_use "$variant" && create "$level" --assume-clean "$@" || return
	echo 200000 >/sys/block/md0/md/sync_speed_min
	load
	turns /dev/ram1
	rc=$?
	load_ends && idle 60 && md_is degraded 0 || rc=1
	stop && md_unload || rc=1
	echo "# raid$level $variant: $TURNS turns, $BUSY times busy, $TOOK ms a turn"
	return $rc
}

# both LEVEL OPTION...: not more often busy than stock, but for chance
both()
{
	local busy

	level stock "$@" || return
	busy=$BUSY
	level percpu "$@" && [ "$BUSY" -le $((busy + TURNS / 5)) ]
}

plan 5
try ramdisks 4 32
ok "raid1" both 1 --bitmap=none --raid-devices=2 /dev/ram0 /dev/ram1
ok "raid10" both 10 --bitmap=none --raid-devices=4 /dev/ram0 /dev/ram1 /dev/ram2 /dev/ram3
ok "raid5" both 5 --bitmap=none --raid-devices=3 /dev/ram0 /dev/ram1 /dev/ram2
ok "raid6" both 6 --bitmap=none --raid-devices=4 /dev/ram0 /dev/ram1 /dev/ram2 /dev/ram3
ok "all modules can go" md_unload
