# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# This test will let 1000 reads fail on one member, of which each freezes the array to
# write the sector again, on both sets: it takes no longer than with stock.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

MB=48
ROUNDS=${ROUNDS:-5}
BAD=/sys/kernel/config/nullb/nullb0/badblocks

# bad_sectors: 500, one in each block of 4 KiB; null_blk can have 512
bad_sectors()
{
	awk 'BEGIN {
		for (i = 0; i < 500; i++)
			printf "+%d-%d\n", 16384 + i * 8, 16384 + i * 8
	}' | while read -r range; do
		echo "$range" >$BAD || return
	done
}

# until_mended: read all that is bad until each has failed, and was written again
until_mended()
{
	local n

	for n in $(seq 200); do
		fio --name=storm --filename=/dev/md0 --rw=randread --bs=4k --direct=1 --ioengine=libaio \
			--iodepth=16 --offset=4m --size=12m >/tmp/fio.out 2>&1 || { cat /tmp/fio.out; return 1; }
		[ -n "$(cat $BAD)" ] || return 0
	done
	return 1
}

now_ms()
{
	awk '{ print int($1 * 1000) }' /proc/uptime
}

# one ROUND LEVEL VARIANT
one()
{
	local t t0 took=0 batch

	md_use "$3" || exit
	case $2 in
	# A mirror that is not read: what is bad is met at once.
	raid1) create 1 --assume-clean --bitmap=none --raid-devices=2 /dev/nullb0 --write-mostly /dev/nullb1 ;;
	raid10) create 10 --assume-clean --bitmap=none --raid-devices=2 /dev/nullb0 /dev/nullb1 ;;
	esac || exit
	md max_read_errors 1000000 || exit
	for batch in 1 2; do
		bad_sectors || exit
		t0=$(now_ms)
		until_mended || exit
		t=$(now_ms)
		took=$((took + t - t0))
	done
	! md dev-nullb0/state | grep -q faulty || { echo "# the member has failed"; exit 1; }
	stop || exit
	echo "# $2 $3: $took ms"
	echo "$2 $3 $took" >>/tmp/storms
}

# no_longer LEVEL: in the best round of each, 1.2 times stock at most
no_longer()
{
	awk -v level="$1" '$1 == level && !($3 > best[$2] && best[$2]) { best[$2] = $3 }
		END {
			printf "# %s: %.2f of stock\n", level, best["percpu"] / best["stock"]
			exit !(best["percpu"] > 0 && best["percpu"] <= 1.2 * best["stock"])
		}' /tmp/storms
}

plan 3
try null_disk 0 $MB
try null_disk 1 $MB
echo 1 >${BAD}_once
in_turn raid1 raid10
ok "raid1: 1000 read errors" no_longer raid1
ok "raid10: 1000 read errors" no_longer raid10
ok "all modules can go" md_unload
