# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# This test will write to a chunk whose bit another write has set, while that is not on
# disk yet, and see that it waits; in stock md it does not.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

MB=64
OFFSET=$((32 * 2048))	# sectors: what is before it is metadata, and slow to write

# writes NAME MB N: N blocks at once, and how long the fastest one took, in ms, in NAME
writes()
{
	fio --eta=never --output="/tmp/$1.log" --name="$1" --filename=/dev/md0 --direct=1 --bs=4k --rw=write \
		--ioengine=libaio --iodepth="$3" --iodepth_batch="$3" --offset="$2m" --size=$((4 * $3))k \
		--write_lat_log="/tmp/$1" && awk -F', *' 'NR == 1 || $2 < min { min = $2 }
		END { print int(min / 1e6) }' "/tmp/$1_lat.1.log" >"/tmp/$1"
}

# all_clean: the bitmap on disk has no bit set
all_clean()
{
	mdadm -X /dev/nullb1 | grep -q ' 0 dirty'
}

# early LEVEL: while the first write waits until its bit is written, which takes 1.5 s,
# others need the same bit
early()
{
	local i n=0 min=10000

	create "$1" --assume-clean --bitmap=internal --bitmap-chunk=1M --raid-devices=2 \
		/dev/mapper/slow /dev/nullb1 || return
	md safe_mode_delay 0
	writes first 36 1 && echo 1 >/sys/block/md0/md/bitmap/time_base && until_true 40 all_clean || return
	writes first 37 1
	for i in $(seq 4); do
		writes first $((40 + i)) 1 &
		usleep 200000
		writes second $((40 + i)) 8 || return
		wait
		# It may have been set.
		[ "$(cat /tmp/first)" -ge 1200 ] || continue
		n=$((n + 1))
		[ "$(cat /tmp/second)" -ge "$min" ] || min=$(cat /tmp/second)
	done
	echo "# raid$1: $n times; the fastest of the other writes took $min ms"
	stop
	[ "$n" -gt 0 ] && [ "$min" -ge 300 ]
}

plan 2
try md_use "$VARIANT"
try modprobe dm-mod
try modprobe dm-delay
try null_disk 0 $MB
try null_disk 1 $MB
dmsetup create slow <<-END
	0 $OFFSET delay /dev/nullb0 0 0 /dev/nullb0 0 1500
	$OFFSET $((MB * 2048 - OFFSET)) linear /dev/nullb0 $OFFSET
END
ok "raid1: a write waits for the bit that another one has set" early 1
ok "raid10: a write waits for the bit that another one has set" early 10
