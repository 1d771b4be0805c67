# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# alone: it compares times
#
# This test will read from mirrors that are equal, one slower than the other, and
# one that hangs for a while, on both sets: how the reads are shared out, how many
# there are, and how long the slowest take.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

# reads FILE: that a disk has done
reads()
{
	awk '{ print $1 }' "/sys/block/$1/stat"
}

# run DEPTH JOBS SECONDS [OPTION...]: IOPS, and p99 in us, of random reads
run()
{
	local depth=$1 jobs=$2 seconds=$3

	shift 3
	fio --name=run --filename=/dev/md0 --rw=randread --bs=4k --direct=1 --ioengine=libaio \
		--iodepth="$depth" --numjobs="$jobs" --norandommap --randrepeat=0 --time_based \
		--runtime="$seconds" --group_reporting --output-format=terse --terse-version=3 \
		--cpus_allowed=0-$((jobs - 1)) --cpus_allowed_policy=split --percentile_list=99 \
		"$@" >/tmp/fio.out 2>/tmp/fio.err
	awk -F';' '$3 == "run" && $5 == 0 && $8 > 0 {
			split($18, p, "="); print int($8), p[2] + 0; found = 1
		} END { exit !found }' /tmp/fio.out || { cat /tmp/fio.out /tmp/fio.err >&2; return 1; }
}

# array VARIANT LEVEL DISK...
array()
{
	md_use "$1" || return
	shift
	case $1 in
	1) create 1 --assume-clean --bitmap=none --raid-devices=2 "$2" "$3" ;;
	10) create 10 --assume-clean --bitmap=none --chunk=64 --raid-devices=2 "$2" "$3" ;;
	esac
}

# shares DISK DISK DEPTH JOBS: say how many per thousand the second did
shares()
{
	local a b

	a=$(reads "$1") b=$(reads "$2")
	run "$3" "$4" 1 >/tmp/run || return
	a=$(($(reads "$1") - a)) b=$(($(reads "$2") - b))
	SHARE=$((b * 1000 / (a + b)))
	echo "# depth $3, $4 job(s): $(cat /tmp/run) IOPS and p99 in us; second mirror: $SHARE of 1000"
}

# equal LEVEL: both mirrors do the same, within 2 %
equal()
{
	local depth jobs bad=0

	array percpu "$1" /dev/nullb0 /dev/nullb1 || return
	for depth in 1 4 32; do
		for jobs in 1 2; do
			shares nullb0 nullb1 $depth $jobs || return
			[ "$SHARE" -ge 490 ] && [ "$SHARE" -le 510 ] || bad=1
		done
	done
	stop && return $bad
}

# slower LEVEL DISK PERCENT: reads that there are if the second mirror is slower,
# the sets in turn; at least that much of stock, for each depth
slower()
{
	local level=$1 disk=$2 least=$3 variant depth round

	rm -f /tmp/slower
	for round in 1 2; do
		echo "# round $round"
		for variant in stock percpu; do
			array $variant "$level" /dev/nullb0 "/dev/$disk" || return
			# Let it find out.
			run 4 2 1 >/dev/null
			for depth in 1.1 4.2 ${LONG:+1.2 32.1}; do
				echo "$depth $variant $(run "${depth%.*}" "${depth#*.}" 1)" >>/tmp/slower
			done
			stop || return
		done
	done
	# The better of both: noise takes away, and never adds.
	awk -v least="$least" '
		{ if ($3 > best[$1, $2]) best[$1, $2] = $3; at[$1] = 1 }
		END {
			for (i in at) {
				p = best[i, "percpu"] * 100 / best[i, "stock"]
				printf "# depth.jobs %s: stock %d, percpu %d: %d %%\n", i,
					best[i, "stock"], best[i, "percpu"], p
				if (p < least) bad = 1
			}
			exit bad
		}' /tmp/slower
}

# stall VARIANT: of reads while a mirror hangs for 200 ms, again and again: how many end
# in these times, and p99 of all in us
stall()
{
	local n

	dmsetup create hangs --table "0 65536 linear /dev/nullb1 0" || return
	array "$1" 1 /dev/nullb0 /dev/mapper/hangs || return
	rm -f /tmp/meanwhile
	(
		usleep 500000
		for n in $(seq 10); do
			dmsetup suspend --noflush --nolockfs hangs
			n=$(reads md0)
			usleep 200000
			echo $(($(reads md0) - n)) >>/tmp/meanwhile
			dmsetup resume hangs
			usleep 150000
		done
	) &
	n=$!
	run 8 2 5 >/tmp/run || return
	wait $n
	stop && dmsetup remove hangs || return
	P99=$(awk '{ print int($2) }' /tmp/run)
	MEANWHILE=$(awk '{ n += $1 } END { print int(n) }' /tmp/meanwhile)
	echo "# $1: $MEANWHILE reads end while a mirror hangs, $(awk '{ print $1 }' /tmp/run) IOPS, p99 $P99 us"
}

# stall_both: not worse than stock, but for noise
stall_both()
{
	local stock p99

	stall stock || return
	stock=$MEANWHILE p99=$P99
	stall percpu && [ "$MEANWHILE" -ge $((stock * 8 / 10)) ] && [ "$P99" -le $((p99 + p99 / 2)) ]
}

# sequential LEVEL: the mean size of the requests that the members see, in sectors,
# while one job reads on and on; no less than stock's
sequential()
{
	local variant before after size

	for variant in stock percpu; do
		array $variant "$1" /dev/nullb0 /dev/nullb1 || return
		before=$(cat /sys/block/nullb0/stat /sys/block/nullb1/stat | awk '{ r += $1; s += $3 } END { print r, s }')
		dd if=/dev/md0 of=/dev/null bs=256k count=60 2>/dev/null
		after=$(cat /sys/block/nullb0/stat /sys/block/nullb1/stat | awk '{ r += $1; s += $3 } END { print r, s }')
		stop || return
		size=$(echo "$before $after" | awk '{ printf "%d", ($4 - $2) / ($3 - $1) }')
		echo "# $variant: $size sectors a request"
		[ $variant = stock ] || [ "$size" -ge "$stock" ] || return
		stock=$size
	done
}

# write_mostly VARIANT: the second mirror is not read from
write_mostly()
{
	md_use "$1" && create 1 --assume-clean --bitmap=none --raid-devices=2 \
		/dev/nullb0 --write-mostly /dev/nullb1 || return
	# Let udev-less mdadm and the partition scan be over.
	usleep 200000
	shares nullb0 nullb1 4 2 && stop && [ "$SHARE" = 0 ]
}

plan 10
modprobe dm-mod
n=0
# Long beside what a guest adds: it is the ratio that counts.
for ms in 4 4 8 40; do
	try null_disk $n 48 irqmode=2 hw_queue_depth=128 completion_nsec=${ms}000000
	n=$((n + 1))
done
for level in 1 10; do
	ok "raid$level: equal mirrors do the same, within 2 %" equal $level
	# The bar is 0.95, and the lines above each result tell; the rest is for noise.
	ok "raid$level: twice the time: not below stock" slower $level nullb2 80
	ok "raid$level: ten times: not below stock" slower $level nullb3 80
	ok "raid$level: a sequential stream keeps its requests" sequential $level
done
ok "raid1: a mirror that hangs: not fewer reads, and p99 not worse than stock" stall_both
ok "raid1: a write-mostly mirror is not read" write_mostly percpu
