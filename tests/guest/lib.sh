# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# For the jobs that run in the guest: KTAP, the two module sets, disks, arrays.
# A command that should work is run by `try`, what is to be found out by `ok`.

MD_MODULES="md_balance_kunit md_barrier_kunit md_pending_kunit dm_raid raid456 raid10 raid1 raid0 linear md_mod"
KTAP=/results/ktap
NR=0
# There is no udevd: dmsetup makes its nodes itself.
export DM_DISABLE_UDEV=1

# plan N: how many results there will be
plan()
{
	echo "KTAP version 1" | tee -a $KTAP
	echo "1..$1" | tee -a $KTAP
}

# result WORD DESCRIPTION
result()
{
	NR=$((NR + 1))
	echo "$1 $NR $2" | tee -a $KTAP
}

# ok DESCRIPTION COMMAND...: a result, by the command's exit status, which it
# returns: `|| exit` where the rest would mean nothing
ok()
{
	local what="$1"

	shift
	if "$@"; then
		result ok "$what"
	else
		result "not ok" "$what"
		echo "# failed: $*"
		return 1
	fi
}

# skip_all REASON: this job cannot run here
skip_all()
{
	echo "$*" >/results/skip
	exit 4
}

# try COMMAND...: it must work, or nothing that follows means anything
try()
{
	"$@" && return
	echo "# failed, giving up: $*"
	result "not ok" "$1 works"
	cat /proc/mdstat
	dmesg | tail -n 20
	exit 1
}

# until_true SECONDS COMMAND...: poll; false when the time is over
until_true()
{
	local end

	end=$(($(date +%s) + $1))
	shift
	until "$@"; do
		[ "$(date +%s)" -lt $end ] || return 1
		usleep 50000
	done
}

# gone PID: that process has ended
gone()
{
	! kill -0 "$1" 2>/dev/null
}

# now_ms: since the guest has started
now_ms()
{
	awk '{ print int($1 * 1000) }' /proc/uptime
}

# md_use stock|percpu: the set that modprobe and the kernel find from now on
md_use()
{
	[ -d "/md/$1" ] || { echo "# there is no set $1"; return 1; }
	md_unload || return
	rm -f "/lib/modules/$(uname -r)"
	ln -s "/md/$1/lib/modules/$(uname -r)" "/lib/modules/$(uname -r)"
}

# md_unload: no md module is left, or false
md_unload()
{
	local m

	for m in $MD_MODULES; do
		grep -q "^$m " /proc/modules || continue
		rmmod "$m" || return
	done
}

# ramdisks N MB
ramdisks()
{
	grep -q '^brd ' /proc/modules && { rmmod brd || return; }
	modprobe brd rd_nr="$1" rd_size=$(($2 * 1024))
}

# disks N [PREFIX]: the first N ramdisks, or what is called PREFIX and a number
disks()
{
	seq 0 $(($1 - 1)) | sed "s|^|${2:-/dev/ram}|"
}

# null_disk N MB ATTRIBUTE=VALUE...: /dev/nullbN, which keeps data
null_disk()
{
	local dir=/sys/kernel/config/nullb/nullb$1 size=$2 a

	shift 2
	[ -d /sys/module/null_blk ] || modprobe null_blk nr_devices=0 || return
	[ -d /sys/kernel/config/nullb ] ||
		mount -t configfs configfs /sys/kernel/config || return
	mkdir "$dir" || return
	for a in "size=$size" memory_backed=1 "submit_queues=$(nproc)" "$@" power=1; do
		echo "${a#*=}" >"$dir/${a%%=*}" || return
	done
}

# dm_table NAME TABLE: /dev/mapper/NAME has it from now on
dm_table()
{
	if [ -e "/dev/mapper/$1" ]; then
		dmsetup reload "$1" --table "$2" && dmsetup suspend "$1" && dmsetup resume "$1"
	else
		dmsetup create "$1" --table "$2"
	fi
}

# create LEVEL DEVICES-AND-OPTIONS...: /dev/md0, or false
create()
{
	local level=$1

	shift
	mdadm --quiet --create /dev/md0 --run --level="$level" "$@" >/tmp/mdadm.log 2>&1 ||
		{ cat /tmp/mdadm.log; return 1; }
}

# stop: /dev/md0 is no more; mdadm and the block layer may hold it for a moment
stop()
{
	until_true 10 mdadm --quiet --stop /dev/md0 2>/dev/null
}

# md FILE [VALUE]: read or write an attribute of md0
md()
{
	if [ $# = 1 ]; then
		cat "/sys/block/md0/md/$1"
	else
		echo "$2" >"/sys/block/md0/md/$1"
	fi
}

md_is()
{
	[ "$(md "$1")" = "$2" ]
}

# idle SECONDS: resync, recovery and reshape are over
idle()
{
	until_true "$1" md_is sync_action idle
}

# in_turn LEVEL...: the job's own `one ROUND LEVEL VARIANT`, for each level of each of
# $ROUNDS rounds, with the sets of $SETS, or stock and percpu, in an order that alternates
in_turn()
{
	local round there="${SETS:-stock percpu}" back="" order level modules

	for modules in $there; do
		back="$modules $back"
	done
	for round in $(seq "$ROUNDS"); do
		order=$there
		[ $((round % 2)) = 1 ] || order=$back
		for level; do
			for modules in $order; do
				one "$round" "$level" "$modules"
			done
		done
	done
}

# trace_blocks EVENT...: trace these events of the block layer, from nothing, in order
trace_blocks()
{
	local e

	echo mono >/sys/kernel/tracing/trace_clock
	echo >/sys/kernel/tracing/trace
	for e; do
		echo 1 >"/sys/kernel/tracing/events/block/$e/enable"
	done
}

# trace_ends NAME: no more; what there is to /results/trace-NAME
trace_ends()
{
	echo 0 >/sys/kernel/tracing/events/block/enable
	cp /sys/kernel/tracing/trace "/results/trace-$1"
}

# about: what measures, into /results/about.tsv
about()
{
	{
		echo "kernel	$(uname -r)"
		echo "fio	$(fio --version)"
		echo "mdadm	$(mdadm --version 2>&1)"
		echo "cpus	$(nproc)"
	} >/results/about.tsv
}
