# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# This test will let the flush of a member fail: the member fails, or the caller gets
# the error; and fsync does not succeed before the metadata tells that it failed.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

# member N good|bad [MS]: /dev/mapper/mN, whose flush works or fails, and whose writes
# take so long
member()
{
	local table flush=/dev/nullb$1 ms=${3:-0}

	[ "$2" = good ] || flush=/dev/mapper/bad$1
	table="0 524288 delay /dev/nullb$1 0 0 /dev/nullb$1 0 $ms $flush 0 0"
	dm_table "m$1" "$table"
}

# array VARIANT LEVEL N OPTION...: of N members that are good, nothing to update
array()
{
	local variant=$1 level=$2 n=$3 i

	shift 3
	md_use "$variant" || return
	for i in $(seq 0 $((n - 1))); do
		member "$i" good && { mdadm --quiet --zero-superblock "/dev/mapper/m$i" 2>/dev/null; true; }
	done
	# shellcheck disable=SC2046 # words
	create "$level" "$@" --raid-devices="$n" $(disks "$n" /dev/mapper/m) || return
	[ ! -e /sys/block/md0/md/safe_mode_delay ] || md safe_mode_delay 0
	write_fsync
}

write_fsync()
{
	dd if=/dev/zero of=/dev/md0 bs=4k count=1 conv=fsync,notrunc 2>/tmp/dd.log
}

state()
{
	cat "/sys/block/md0/md/dev-dm-$1/state"
}

is_faulty()
{
	state "$1" | grep -q faulty
}

# recorded MEMBER: in the trace, a superblock is on MEMBER before the first fsync ends
recorded()
{
	awk -v dev="$(tr : , <"/sys/block/dm-$1/dev")" '
		{ sub(/.* block_bio_complete: /, "") }
		$1 == dev && $3 == 8 && $5 > 0 && !sb { sb = NR }
		$1 == "9,0" && $2 ~ /^F/ && !fsync { fsync = NR }
		END { exit !(sb && fsync && fsync > sb) }
	' /sys/kernel/tracing/trace
}

# redundant VARIANT LEVEL N OPTION...: without member 1 it goes on. The superblock takes
# its time.
redundant()
{
	array "$@" || return
	member 0 good 100 && member 1 bad || return
	trace_blocks block_bio_complete
	write_fsync || return
	usleep 500000
	trace_ends "$1-$2"
	is_faulty "$((1 + FIRST))" && recorded "$FIRST" && write_fsync && stop
}

# before VARIANT LEVEL N OPTION...: member 1 fails, and a flush finds it so
before()
{
	array "$@" && member 0 good 300 || return
	trace_blocks block_bio_complete
	mdadm --quiet /dev/md0 --fail /dev/mapper/m1 &&
		dd if=/dev/null of=/dev/md0 count=0 conv=fsync,notrunc 2>/tmp/dd.log || return
	usleep 500000
	trace_ends "before-$1-$2"
	recorded "$FIRST" && stop
}

# withheld VARIANT: the data of a flush that has failed is not written
withheld()
{
	array "$1" 0 2 && mkfs.ext4 -q -F /dev/md0 32M && mount -t ext4 /dev/md0 /mnt || return
	member 1 bad && echo 1 >/mnt/file || return
	trace_blocks block_bio_queue
	! sync /mnt/file || return
	usleep 500000
	trace_ends "withheld-$1"
	umount /mnt
	# The commit block would be where the blocks before it are.
	member 1 good && stop && awk -v dm="^$(sed 's/:.*//' "/sys/block/dm-$FIRST/dev")," '
		{ sub(/.* block_bio_queue: /, "") }
		$1 == "9,0" && $2 ~ /^W/ { md = $3 }
		$1 ~ dm && $2 ~ /^W/ && !commit { offset = md - $3 }
		$1 == "9,0" && $2 ~ /^FWF/ && $5 > 0 && !commit { commit = $3 }
		$1 ~ dm && $2 ~ /^W/ && commit && $3 == commit - offset { written = 1 }
		END { exit !(commit && offset && !written) }
	' /sys/kernel/tracing/trace
}

# last VARIANT LEVEL N BAD OPTION...: without member BAD as well it cannot
last()
{
	local variant=$1 level=$2 n=$3 bad=$4

	shift 4
	array "$variant" "$level" "$n" "$@" && member 1 bad && write_fsync &&
		is_faulty "$((1 + FIRST))" && member "$bad" bad || return
	! write_fsync && grep -q "nput/output" /tmp/dd.log && stop
}

# none VARIANT LEVEL: there is no redundancy: the error comes, each time, and no more
none()
{
	array "$1" "$2" 2 || return
	member 1 bad
	! write_fsync && ! write_fsync || return
	member 1 good
	write_fsync && stop
}

# lies VARIANT: what stock does
lies()
{
	array "$1" 0 2 && member 1 bad && write_fsync &&
		dmesg | grep -q "dm-$((1 + FIRST)) flush io error" && member 1 good && stop
}

plan 16
try modprobe dm-mod
try modprobe dm-delay
try modprobe dm-flakey
try modprobe ext4
for i in 0 1 2 3; do
	try null_disk "$i" 256 cache_size=32
	try dmsetup create "bad$i" --table "0 524288 flakey /dev/nullb$i 0 0 1 1 error_writes"
done
# The first member's number among the dm disks.
FIRST=4

ok "stock raid0: fsync succeeds though a flush has failed" lies stock
ok "raid0: fsync tells" none percpu 0
ok "linear: fsync tells" none percpu linear
ok "raid0: the data of a flush that failed is not written" withheld percpu
ok "raid1: fsync finds a member that failed, and waits for the record" before percpu 1 2 --assume-clean --bitmap=none
ok "raid10: fsync finds a member that failed, and waits for the record" before percpu 10 4 --assume-clean --bitmap=none
ok "raid5: fsync finds a member that failed, and waits for the record" before percpu 5 3 --assume-clean --bitmap=none
ok "raid1: the member fails, recorded before fsync ends" redundant percpu 1 2 --assume-clean --bitmap=none
ok "raid10: the member fails, recorded before fsync ends" redundant percpu 10 4 --assume-clean --bitmap=none
ok "raid5: the member fails, recorded before fsync ends" redundant percpu 5 3 --assume-clean --bitmap=none
ok "raid6: the member fails, recorded before fsync ends" redundant percpu 6 4 --assume-clean --bitmap=none
ok "raid1, the last member: fsync tells" last percpu 1 2 0 --assume-clean --bitmap=none
ok "raid10, both of a pair: fsync tells" last percpu 10 4 0 --assume-clean --bitmap=none
ok "raid5, two members: fsync tells" last percpu 5 3 2 --assume-clean --bitmap=none
ok "raid1 with a bitmap: the member fails, recorded before fsync ends" \
	redundant percpu 1 2 --assume-clean --bitmap=internal
ok "all modules can go" md_unload
