# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# This test will trace the commits of a journal: no member gets the data of a flush
# before every member has been flushed, all at once. Stock lets it overtake, which must
# be seen.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

COMMITS=20

# members N: /dev/mapper/mI, which flush their cache in 5 ms, and write at once
members()
{
	local i

	for i in $(seq 0 $(($1 - 1))); do
		null_disk "$i" 256 cache_size=32 irqmode=0 &&
			dmsetup create "m$i" --table \
				"0 524288 delay /dev/nullb$i 0 0 /dev/nullb$i 0 0 /dev/nullb$i 0 5" || return
	done
}

# commits NAME: traced, one at a time
commits()
{
	local n

	trace_blocks block_bio_queue block_bio_complete
	for n in $(seq $COMMITS); do
		echo "$n" >>/mnt/file && sync /mnt/file || return
	done
	trace_ends "$1"
}

# judge "MEMBERS": MAJOR,MINOR of each; COUNT flushes with data, EARLY of them overtaken,
# SERIAL not sent to every member before one was done
judge()
{
	awk -v list="$1" '
		BEGIN { members = split(list, m, " "); for (i in m) is[m[i]] = 1 }
		{
			sub(/.* block_bio_/, "")
			what = $1; dev = $2; op = $3; n = $6
		}
		what == "queue:" && dev == "9,0" && op ~ /^F/ && n > 0 {
			count++; left = members; early = 0; sent = 0
			delete done
		}
		what == "queue:" && dev in is && op ~ /^F/ && n == 0 { sent++ }
		what == "complete:" && dev in is && op ~ /^F/ && n == 0 && left == members && sent < members { serial++ }
		what == "complete:" && dev in is && op ~ /^F/ && n == 0 && !done[dev]++ { left-- }
		# Its own data has REQ_FUA; there may be other writes.
		what == "queue:" && dev in is && op ~ /^WF/ && n > 0 && left > 0 && !early {
			early = 1; all++
		}
		END { print "COUNT=" count + 0 " EARLY=" all + 0 " SERIAL=" serial + 0 }
	' /sys/kernel/tracing/trace
}

# level VARIANT N LEVEL OPTION...
level()
{
	local variant=$1 n=$2 level=$3 devs=""

	shift 3
	md_use "$variant" && modprobe dm-mod && modprobe dm-delay && modprobe ext4 || return
	for i in $(seq 0 $((n - 1))); do
		mdadm --quiet --zero-superblock "/dev/mapper/m$i" 2>/dev/null
		devs="$devs $(tr : , <"/sys/block/dm-$i/dev")"
	done
	# shellcheck disable=SC2046 # words
	create "$level" "$@" --raid-devices="$n" $(disks "$n" /dev/mapper/m) || return
	[ ! -e /sys/block/md0/md/safe_mode_delay ] || md safe_mode_delay 0
	mkfs.ext4 -q -F /dev/md0 32M && mount -t ext4 /dev/md0 /mnt || return
	echo 0 >/mnt/file && sync && usleep 300000 && commits "$variant-$level"
	umount /mnt && stop || return
	eval "$(judge "$devs")"
	echo "# $level $variant: $COUNT flushes with data, $EARLY overtaken"
	[ "$COUNT" -ge $COMMITS ]
}

# both N LEVEL OPTION...: on stock the test must see what it looks for
both()
{
	level stock "$@" && [ "$EARLY" -gt 0 ] &&
		level percpu "$@" && [ "$EARLY" = 0 ] && [ "$SERIAL" = 0 ]
}

plan 7
modprobe dm-mod && modprobe dm-delay && try members 4
ok "linear" both 2 linear
ok "raid0" both 2 0
ok "raid1" both 2 1 --assume-clean --bitmap=none
ok "raid10" both 4 10 --assume-clean --bitmap=none
ok "raid5" both 3 5 --assume-clean --bitmap=none
ok "raid6" both 4 6 --assume-clean --bitmap=none
ok "all modules can go" md_unload
