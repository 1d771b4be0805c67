# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# alone: it compares times
#
# This test will let 1000 reads fail, of which each freezes the array to be repeated and
# mended, on both sets: it takes no longer than with stock.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

MB=48
ROUNDS=${ROUNDS:-3}
NULLB=/sys/kernel/config/nullb

# bad_sectors: in the 4 KiB blocks from 7 MiB of the array on, in turn on one member and
# on the other; whichever is read, half of them are met
bad_sectors()
{
	for i in 0 1; do
		awk -v member=$i 'BEGIN {
			for (i = 0; i < 400; i++) {
				s = 16384 + (2 * i + member) * 8
				printf "+%d-%d\n", s, s
			}
		}' | while read -r range; do
			echo "$range" >$NULLB/nullb$i/badblocks || return
		done
	done
}

# left: of them
left()
{
	cat $NULLB/nullb[01]/badblocks | wc -l
}

# one ROUND LEVEL VARIANT
one()
{
	local t0 took=0 mended=0

	md_use "$3" || exit
	create "${2#raid}" --assume-clean --bitmap=none --raid-devices=2 /dev/nullb0 /dev/nullb1 &&
		md max_read_errors 1000000 || exit
	while [ $mended -lt 1000 ]; do
		bad_sectors && [ "$(left)" = 800 ] || exit
		t0=$(now_ms)
		fio --name=storm --filename=/dev/md0 --rw=randread --bs=4k --direct=1 --ioengine=libaio \
			--iodepth=16 --offset=7m --size=3200k >/tmp/fio.out 2>&1 || { cat /tmp/fio.out; exit 1; }
		took=$((took + $(now_ms) - t0))
		mended=$((mended + 800 - $(left)))
	done
	! grep -q '(F)' /proc/mdstat || { echo "# a member has failed"; exit 1; }
	stop || exit
	took=$((took * 1000 / mended))
	echo "# $2 $3: $mended errors, $took us each"
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
echo 1 >/proc/sys/kernel/printk # each error is two lines there
try null_disk 0 $MB badblocks_once=1
try null_disk 1 $MB badblocks_once=1
in_turn raid1 raid10
ok "raid1: 1000 read errors" no_longer raid1
ok "raid10: 1000 read errors" no_longer raid10
ok "all modules can go" md_unload
