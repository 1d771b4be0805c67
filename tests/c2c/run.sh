# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# What the meter runs in the guest: the windows named in WINDOWS, in turn, each
# WHAT-VARIANT-RW-BITMAP, where WHAT is a level or the name of a control. Wants
# IOS, too. Leaves for each /results/WINDOW/ios (the exact number in it) and
# kallsyms.gz.
#
# Before a window that writes, an array with a bitmap is written from end to end,
# and its daemon put off: all bits are dirty, on disk too, before the window and
# after it, and no write waits for one to be set. Were it not so, this fails.
#
# The members are ramdisks. They have no volatile cache, and the block layer drops
# a flush for those before md sees it: for fsync they are null_blk's, with one.
#
# The array's thread is bound to CPU 0: on which CPUs it ran must not decide which
# lines are shared.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

# members N: the first N
members()
{
	seq 0 $(($1 - 1)) | sed "s|^|/dev/$DISK|"
}

# array LEVEL BITMAP: /dev/md0, or false
# shellcheck disable=SC2046 # members gives words
array()
{
	local bitmap=$2

	[ "$bitmap" != llbitmap ] || bitmap=lockless
	case $1 in
	raid0) create 0 --chunk=64 --raid-devices=3 $(members 3) ;;
	raid1) create 1 --assume-clean --bitmap="$bitmap" --raid-devices=2 $(members 2) ;;
	raid10) create 10 --assume-clean --bitmap="$bitmap" --chunk=64 --raid-devices=4 $(members 4) ;;
	raid5) create 5 --assume-clean --bitmap="$bitmap" --chunk=64 --raid-devices=3 $(members 3) ;;
	esac
}

# dirty BITMAP: every bit of md0's is
dirty()
{
	case $1 in
	none) ;;
	internal) mdadm --examine-bitmap "/dev/${DISK}0" | grep -F 'dirty (100.0%)' ;;
	llbitmap) md llbitmap/bits | awk '{ n[$1] += $NF; all += $NF }
		END { print n["dirty"] " dirty of " all; exit !n["dirty"] || n["dirty"] != all }' ;;
	esac
}

# soil BITMAP: make them dirty, to stay so for an hour
soil()
{
	case $1 in
	none) return 0 ;;
	internal) md bitmap/time_base 3600 ;;
	llbitmap) md llbitmap/daemon_sleep 3600 ;;
	esac || return
	# dd stops at the end of the device, and says so.
	dd if=/dev/zero of=/dev/md0 bs=1M oflag=direct 2>/dev/null
	dirty "$1"
}

# count WINDOW DEVICE RW
count()
{
	mkdir -p "/results/$1"
	/job/job "$2" "$3" "$(nproc)" "$IOS" >"/results/$1/ios" &&
		gzip </proc/kallsyms >"/results/$1/kallsyms.gz"
}

# one WINDOW WHAT VARIANT RW BITMAP
one()
{
	case $2 in
	raid*)
		DISK=ram
		[ "$4" != fsync ] || DISK=nullb
		md_use "$3" && array "$2" "$5" || return
		[ "$2" = raid0 ] || taskset -p 1 "$(pidof "md0_$2")" >/dev/null || return
		[ "$4" = randread ] || soil "$5" || { echo "not all bits are dirty"; return 1; }
		count "$1" /dev/md0 "$4" || return
		[ "$4" = randread ] || dirty "$5" || { echo "not all bits stayed dirty"; return 1; }
		stop
		;;
	*) count "$1" "/dev/c2c-$2" "$4" ;;
	esac
}

chmod +x /job/job
if [ -e /job/c2c_control.ko ]; then
	insmod /job/c2c_control.ko || exit
fi
ramdisks 4 64 || exit
case $WINDOWS in
*-fsync-*)
	for n in 0 1 2 3; do
		null_disk $n 64 irqmode=0 cache_size=64 || exit
	done
	;;
esac
# No page of them is to be allocated in the window.
for d in /dev/ram[0-3] /dev/nullb[0-3]; do
	[ ! -b "$d" ] || dd if=/dev/zero of="$d" bs=1M count=64 conv=fsync 2>/dev/null
done
for window in $WINDOWS; do
	echo "@ $window"
	# shellcheck disable=SC2046 # words
	one "$window" $(echo "$window" | tr - ' ') || { echo "$window: failed"; exit 1; }
done
