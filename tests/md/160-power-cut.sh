# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# program: tests/flush/records.c
# program: tests/flush/commits.c
#
# This test will cut the power of all members while a file system makes records durable,
# CUTS times for each level and file system: what was acknowledged is there afterwards,
# the journal can be replayed, and no commit has got ahead of what it commits. On stock
# some do.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

CUTS=${CUTS:-1}
[ -z "$LONG" ] || CUTS=25
THREADS=6
MB=400

# tables FLUSH-MS N: members 0 to N - 1: a null_blk with a volatile cache, behind a switch
# that can stop all I/O (p), behind a delay of flushes (m)
tables()
{
	local i

	for i in $(seq 0 $(($2 - 1))); do
		dmsetup create "p$i" --table "0 $((MB * 2048)) linear /dev/nullb$i 0" &&
			dmsetup create "m$i" --table "0 $((MB * 2048)) delay /dev/mapper/p$i 0 0 \
				/dev/mapper/p$i 0 0 /dev/mapper/p$i 0 $1" || return
	done
}

power()
{
	local i

	for i in $(seq 0 $(($2 - 1))); do
		echo "$1" >"/sys/kernel/config/nullb/nullb$i/power" || return
	done
}

remove_tables()
{
	local i

	for i in $(seq 0 $(($1 - 1))); do
		until_true 10 dmsetup remove "m$i" 2>/dev/null &&
			until_true 10 dmsetup remove "p$i" 2>/dev/null || return
	done
}

# cut N: what is acknowledged until now is all that is; then everything is torn down
cut()
{
	local i

	# No I/O gets through any more, and nobody gets an error: the array is as
	# it was. The cache goes with the power.
	for i in $(seq 0 $(($1 - 1))); do
		dmsetup suspend --noflush --nolockfs "p$i" || return
	done
	cp /tmp/acks /tmp/acked
	power 0 "$1" || return
	for i in $(seq 0 $(($1 - 1))); do
		dmsetup reload "p$i" --table "0 $((MB * 2048)) error" && dmsetup resume "p$i" || return
	done
	wait "$WRITER"
	until_true 20 umount /mnt && stop && remove_tables "$1" && power 1 "$1"
}

# mount_settled FS: mount it, with a journal of the array that holds nothing. Else its
# replay can need more stripes than there are, and waits for ever, on stock too.
mount_settled()
{
	mdadm --quiet --readonly /dev/md0 && mdadm --quiet --readwrite /dev/md0 &&
		mount -t "$1" /dev/md0 /mnt
}

# mkfs_mount FS
mkfs_mount()
{
	case $1 in
	ext4) mkfs.ext4 -q -F -E lazy_itable_init=0 -J size=8 /dev/md0 ;;
	xfs) mkfs.xfs -q -f /dev/md0 ;;
	esac && mount_settled "$1"
}

# after FS: the journal before it is replayed; what was acknowledged; the rest
after()
{
	case $1 in
	ext4)
		debugfs -R "dump <8> /tmp/journal" /dev/md0 2>/tmp/debugfs.log
		/job/commits /tmp/journal >/tmp/commits || EARLY=$((EARLY + 1))
		;;
	esac
	mount -t "$1" /dev/md0 /mnt || return
	/job/records check /mnt /tmp/acked $THREADS >/tmp/check || { cat /tmp/check; return 1; }
	ACKED=$((ACKED + $(sed 's/ .*//' /tmp/check)))
	rm -rf /mnt/[0-9]*
	umount /mnt || return
	case $1 in
	ext4) e2fsck -fn /dev/md0 >/tmp/fsck 2>&1 ;;
	xfs) xfs_repair -n /dev/md0 >/tmp/fsck 2>&1 ;;
	esac || { cat /tmp/fsck; return 1; }
	mount_settled "$1"
}

# cuts VARIANT CUTS FS LEVEL N OPTION...: BAD of $N, EARLY commits, ACKED records; on
# stock until the first one that is early. A journal is one disk more
cuts()
{
	local variant=$1 cuts=$2 fs=$3 level=$4 raid=$5 n=$5 i t0

	shift 5
	case "$*" in
	*--write-journal*) n=$((n + 1)) ;;
	esac
	md_use "$variant" && modprobe dm-mod && modprobe dm-delay && modprobe "$fs" || return
	power 1 "$n" && tables 15 "$n" || return
	# shellcheck disable=SC2046 # words
	create "$level" "$@" --raid-devices="$raid" $(disks "$raid" /dev/mapper/m) &&
		{ [ "$level" = 0 ] || idle 60; } && mkfs_mount "$fs" || return
	BAD=0 EARLY=0 ACKED=0 t0=$(date +%s)
	for i in $(seq "$cuts"); do
		rm -f /tmp/acks
		/job/records write /mnt /tmp/acks $THREADS 2>/dev/null &
		WRITER=$!
		usleep $((200000 + i * 37123 % 211 * 1000))
		cut "$n" && tables 15 "$n" || return
		# shellcheck disable=SC2046 # words
		mdadm --quiet --assemble /dev/md0 $(disks "$n" /dev/mapper/m) 2>/tmp/mdadm.log ||
			{ cat /tmp/mdadm.log; return 1; }
		N=$i
		if ! after "$fs"; then
			BAD=$((BAD + 1))
			umount /mnt 2>/dev/null
			mkfs_mount "$fs" || return
		fi
		[ "$variant" = percpu ] || [ $EARLY = 0 ] || break
	done
	umount /mnt 2>/dev/null
	stop && remove_tables "$n" && power 0 "$n" || return
	for i in $(seq 0 $((n - 1))); do
		rmdir "/sys/kernel/config/nullb/nullb$i"
		null_disk "$i" $MB cache_size=64 || return
	done
	echo "# $fs on raid$level $*, $variant: $N cuts, $ACKED acknowledged, $BAD bad, $EARLY early commits, $(($(date +%s) - t0)) s"
}

# good FS LEVEL N OPTION...
good()
{
	cuts percpu "$CUTS" "$@" && [ "$ACKED" -gt 0 ] && [ "$BAD" = 0 ] && [ "$EARLY" = 0 ]
}

# early FS LEVEL N OPTION...: the test sees what it looks for
early()
{
	cuts stock 20 "$@" && [ "$ACKED" -gt 0 ] && [ "$EARLY" -gt 0 ]
}

plan 13
for i in 0 1 2 3; do
	try null_disk "$i" $MB cache_size=64
done
ok "stock, raid1: a commit gets ahead" early ext4 1 2 --assume-clean --bitmap=none
ok "stock, raid5: a commit gets ahead" early ext4 5 3 --assume-clean --bitmap=none
ok "ext4 on raid0" good ext4 0 2
ok "ext4 on raid1" good ext4 1 2 --assume-clean --bitmap=none
ok "ext4 on raid10" good ext4 10 4 --assume-clean --bitmap=internal
ok "ext4 on raid5" good ext4 5 3 --assume-clean --bitmap=none
ok "ext4 on raid5 with a journal" good ext4 5 3 --write-journal /dev/mapper/m3
ok "ext4 on raid5 with PPL" good ext4 5 3 --assume-clean --consistency-policy=ppl
ok "xfs on raid0" good xfs 0 2
ok "xfs on raid1" good xfs 1 2 --assume-clean --bitmap=internal
ok "xfs on raid10" good xfs 10 4 --assume-clean --bitmap=none
ok "xfs on raid5" good xfs 5 3 --assume-clean --bitmap=none
ok "all modules can go" md_unload
