# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# What the meter runs in the guest: one array, or one control, one window.
# Wants WHAT (a level, or the name of a control), VARIANT, RW, IOS, BITMAP.
# Leaves /results/ios (the exact number in the window) and /results/kallsyms.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

# shellcheck disable=SC2153 # set by init
case $WHAT in
raid*)
	md_use "$VARIANT" && ramdisks 4 64 || exit
	# No page of a ramdisk is to be allocated in the window.
	for d in $(disks 4); do
		dd if=/dev/zero of="$d" bs=1M count=64 2>/dev/null
	done
	;;
esac
# shellcheck disable=SC2046 # disks gives words
case $WHAT in
raid0) create 0 --chunk=64 --raid-devices=3 $(disks 3) ;;
raid1) create 1 --assume-clean --bitmap="$BITMAP" --raid-devices=2 $(disks 2) ;;
raid10) create 10 --assume-clean --bitmap="$BITMAP" --chunk=64 --raid-devices=4 $(disks 4) ;;
raid5) create 5 --assume-clean --bitmap="$BITMAP" --chunk=64 --raid-devices=3 $(disks 3) ;;
*) insmod /job/c2c_control.ko ;;
esac || exit
dev=/dev/md0
case $WHAT in
raid*) ;;
*) dev=/dev/c2c-$WHAT ;;
esac
chmod +x /job/job
/job/job "$dev" "$RW" "$(nproc)" "$IOS" >/results/ios || exit
cat /proc/kallsyms >/results/kallsyms
