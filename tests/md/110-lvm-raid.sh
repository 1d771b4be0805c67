# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# This test will create RAID volumes by LVM, write to them, let a disk fail, repair
# them, reload their tables, and remove them.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

lvm_()
{
	lvm "$@" >/tmp/lvm.log 2>&1 || { cat /tmp/lvm.log; return 1; }
}

# disk N linear|error: /dev/mapper/dN works, or not
disk()
{
	case $2 in
	linear) dmsetup reload "d$1" --table "0 131072 linear /dev/ram$1 0" ;;
	error) dmsetup reload "d$1" --table "0 131072 error" ;;
	esac && dmsetup resume "d$1"
}

# data write|read: random data with checksums, or find it
data()
{
	fio --eta=never --name=data --filename=/dev/mapper/vg-lv --rw=randwrite --bs=16k --size=16m \
		--ioengine=libaio --iodepth=16 --direct=1 --verify=crc32c \
		--verify_fatal=1 "$2" --output=/tmp/fio.log || { cat /tmp/fio.log; false; }
}

health()
{
	dmsetup status vg-lv | grep -q " raid $1 $2 "
}

volume()
{
	local type=$1 legs=$2 all=$3 option=$4 other

	other=$(echo "$all" | sed 's/A/D/')
	ok "$type: create" lvm_ lvcreate -y -Wn -Zn --type "$type" "$option" -L 24m -n lv vg || exit
	ok "$type: in sync" until_true 60 health "$type $legs" "$all"
	ok "$type: write" data write --do_verify=1
	ok "$type: reload its table" lvm_ lvchange --refresh vg/lv
	ok "$type: a disk fails" disk 0 error
	ok "$type: write without it" data write --do_verify=1
	ok "$type: it is seen" until_true 10 health "$type $legs" "$other"
	ok "$type: repair" lvm_ lvconvert -y --repair vg/lv
	ok "$type: in sync again" until_true 60 health "$type $legs" "$all"
	ok "$type: the data is there" data read --verify_only=1
	disk 0 linear
	ok "$type: deactivate" lvm_ lvchange -an vg/lv
	ok "$type: activate" lvm_ lvchange -ay vg/lv
	ok "$type: the data is there" data read --verify_only=1
	ok "$type: remove" lvm_ lvremove -y vg/lv
}

plan 29
md_use "$VARIANT"
modprobe dm-mod
try ramdisks 5 64
mkdir -p /etc/lvm /run/lock
cat >/etc/lvm/lvm.conf <<-END
	devices { use_devicesfile=0 scan=["/dev/mapper"] obtain_device_list_from_udev=0 external_device_info_source="none" }
	activation { udev_sync=0 udev_rules=0 monitoring=0 verify_udev_operations=0 }
	global { use_lvmpolld=0 event_activation=0 }
	backup { backup=0 archive=0 }
END
for i in 0 1 2 3 4; do
	try dmsetup create d$i --table "0 131072 linear /dev/ram$i 0"
done
try lvm_ vgcreate vg /dev/mapper/d0 /dev/mapper/d1 /dev/mapper/d2 /dev/mapper/d3 /dev/mapper/d4
volume raid1 2 AA --mirrors=1
volume raid5_ls 3 AAA --stripes=2
lvm_ vgremove vg
dmsetup remove_all
ok "all modules can go" md_unload
