# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# This test will see that modules of the two sets refuse each other, and that
# loading, using and unloading ours over and over leaves nothing behind.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

STOCK=/md/stock/lib/modules/$(uname -r)/md
OURS=/md/percpu/lib/modules/$(uname -r)/md

# refused MODULE-FILE: the kernel does not take it, and says why
refused()
{
	dmesg -c >/dev/null
	! insmod "$1" 2>/tmp/insmod.log || return
	dmesg | grep -E 'does not import|disagrees about version|Unknown symbol'
}

percpu_kb()
{
	awk '$1 == "Percpu:" { print $2 }' /proc/meminfo
}

cycle()
{
	try create 5 --raid-devices=3 --assume-clean --bitmap=none /dev/ram0 /dev/ram1 /dev/ram2
	dd if=/dev/md0 of=/dev/null bs=64k count=64 iflag=direct 2>/dev/null
	try stop
	try md_unload
}

settled()
{
	sync
	[ "$(percpu_kb)" -le "$BEFORE" ]
}

plan 5
try ramdisks 3 16
md_use percpu
modprobe raid456
md_unload
# What they need besides md-mod is loaded now, and stays.
insmod "$OURS/md-mod.ko"
for m in raid1 raid456; do
	ok "stock $m over our md-mod is refused" refused "$STOCK/$m.ko"
done
rmmod md_mod
insmod "$STOCK/md-mod.ko"
ok "our raid456 over stock md-mod is refused" refused "$OURS/raid456.ko"
ok "stock raid456 over stock md-mod is taken" insmod "$STOCK/raid456.ko"
md_unload

cycle
cycle
BEFORE=$(percpu_kb)
for _ in $(seq 20); do
	cycle
done
ok "20 times loaded, used and unloaded: no per-CPU memory is lost" until_true 10 settled
echo "# Percpu: $BEFORE kB before, $(percpu_kb) kB after"
