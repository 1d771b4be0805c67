#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# vm.sh [OPTION...] KERNEL VM JOB: boot the guest on the test kernel, run the
# script JOB in it, and judge. What the job leaves in /results comes back. Of a
# job that says "# program: X.c", X is compiled and goes to /job.
#
#	--out DIR	where: DIR/console, DIR/results/, DIR/verdict
#	--cpus N	CPUs of the guest (2)
#	--mem MB	its memory (1280)
#	--timeout S	how long the job may take (300)
#	--set NAME=VALUE	a variable for the job; may be repeated
#	--file FILE	goes to /job in the guest; may be repeated
#	--plugin SO,ARGS	a TCG plugin (QEMU)
#	--pin		each guest CPU on a CPU of its own (UML)
#	--show		print the job's progress, lines that begin with "@ "
#
# Exit status: 0 passed, 4 skipped, 1 anything else: the guest said so, or it
# said nothing, hung, had too few CPUs, or its kernel complained. DIR/verdict
# says which in one line.

# shellcheck disable=SC2317 # progress is called by name
# shellcheck source=scripts/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

OUT='' CPUS=2 MEM=1280 TIMEOUT=300 SHOW='' PIN='' PLUGIN='' VARS=() FILES=()

# The one list of what must not be on a guest's console.
BAD='(^|[^E])BUG:|WARNING:|Oops|Kernel panic|general protection|Call Trace:'
BAD+='|INFO: (task|rcu).*(blocked|stall)|soft lockup|KASAN|KCSAN|UBSAN'
BAD+='|unreferenced object|possible .*deadlock|refcount_t:|percpu ref .* <= 0'
BAD+='|Segfault|segfault at|Out of memory:'

# said FILE...: what is on the consoles, without the data races that KCSAN finds of
# functions that are in no md module: the kernel has some of its own
said()
{
	cat "$@" 2>/dev/null | tr -d '\0' | awk '
		/BUG: KCSAN:/ { race = $0; md = 0; next }
		race && access && /\[(md_[a-z_]*|raid[0-9]*|linear|dm_raid)\]/ { md = 1 }
		race { access = / by (task|interrupt)/ }
		race && /^(\[[ 0-9.]*\] )?=+\r?$/ { if (md) print race; race = ""; next }
		!race { print }
		END { if (race) print race }'
}

# verdict WORD TEXT...: write it, say it to the caller by the exit status
verdict()
{
	[[ $1 == "$2" ]] && set -- "$1"
	echo "$*" >"$OUT/verdict"
	case $1 in
	pass) exit 0 ;;
	skip) exit 4 ;;
	*) exit 1 ;;
	esac
}

# job_cpio JOB NONCE: what this run adds to the initramfs
job_cpio()
{
	local dir var src

	dir=$(mktemp -d "$OUT/job.XXXXXX")
	mkdir -p "$dir/job"
	while read -r src; do
		gcc -O2 -Wall -static -pthread -o "$dir/job/$(basename "$src" .c)" "$TOP/$src"
	done < <(sed -n 's/^# program: //p' "$1")
	cp "$1" "$dir/job/run"
	((${#FILES[@]} == 0)) || cp "${FILES[@]}" "$dir/job/"
	for var in "NONCE=$2" "CPUS=$CPUS" "TIMEOUT=$TIMEOUT" "${VARS[@]}"; do
		printf "%s='%s'\n" "${var%%=*}" "${var#*=}" # no quotes in values
	done >"$dir/job/env"
	(cd "$dir" && find job | cpio --quiet -o -H newc -R 0:0)
	rm -rf "$dir"
}

# boot VM KERNEL-FOLDER: until it ends
boot()
{
	# --foreground keeps the guest in our process group, for Ctrl-C. It dies
	# with timeout, and that with us, whatever ends us.
	local run=(setpriv --pdeathsig KILL
		timeout --foreground --signal=KILL $((TIMEOUT + 30))
		setpriv --pdeathsig KILL)

	# QEMU 7.2 emulates cmpxchg16b wrongly for SLUB; and with a thread for each
	# vCPU, one may run into the int3 of a static branch that another one has
	# finished patching.
	# shellcheck disable=SC2054 # they are QEMU's commas
	local accel=(-accel tcg,thread=single -cpu max,-cx16,-la57)

	[[ $1 != qemu-* ]] || accel[1]=tcg,thread=multi
	[[ ! -w /dev/kvm || -n $PLUGIN ]] || accel=(-accel kvm -cpu host)
	# The guest's clock goes by what it runs, not by this machine's: the ticks and
	# the turns of the vCPUs are the same however busy this machine is.
	# shellcheck disable=SC2054
	[[ -z $PLUGIN ]] || accel+=(-icount shift=2,sleep=off -plugin "$PLUGIN")
	case $1 in
	uml*)
		exec "${run[@]}" "$2/linux" "mem=${MEM}M" "ncpus=$CPUS" seccomp=on ${PIN:+pincpus} \
			"initrd=$OUT/initrd" "ubd0=$OUT/disk" con=null con0=null,fd:1 \
			panic=-1 loglevel=6 </dev/null
		;;
	qemu*)
		exec "${run[@]}" qemu-system-x86_64 -nodefaults -no-user-config -display none \
			-no-reboot -machine pc "${accel[@]}" -smp "$CPUS" -m "$MEM" \
			-kernel "$2/linux" -initrd "$OUT/initrd" -serial stdio \
			-append "console=ttyS0 panic=-1 loglevel=6 nokaslr" \
			-drive "file=$OUT/disk,format=raw,if=none,id=out" \
			-device virtio-blk-pci,drive=out </dev/null
		;;
	esac
}

main()
{
	local kernel vm job kdir base nonce rc=0 t0=$SECONDS bad show=cat text

	while [[ ${1:-} == -* ]]; do
		case $1 in
		-h | --help) usage; exit ;;
		--out) OUT=$2; shift ;;
		--cpus) CPUS=$2; shift ;;
		--mem) MEM=$2; shift ;;
		--timeout) TIMEOUT=$2; shift ;;
		--set) VARS+=("$2"); shift ;;
		--file) FILES+=("$2"); shift ;;
		--plugin) PLUGIN=$2; shift ;;
		--pin) PIN=1 ;;
		--show) SHOW=1 ;;
		*) die "unknown option $1" ;;
		esac
		shift
	done
	kernel=${1:-}
	vm=${2:-}
	job=${3:-}
	[[ -f $job ]] || die "there is no job ${job:-(none named)}"
	kernel_check "$kernel"
	vm_check "$vm"
	[[ -n $OUT ]] || OUT=$BUILD/$kernel/$vm/run
	rm -rf "$OUT"
	mkdir -p "$OUT/results"
	kdir=$("$TOP/scripts/kernel.sh" "$kernel" "$vm")
	base=$("$TOP/scripts/guest.sh" "$kernel" "$vm")
	OUT=$(cd "$OUT" && pwd)
	# shellcheck disable=SC2064 # now, not then
	trap "rm -f '$OUT/disk' '$OUT/initrd'" EXIT
	nonce=$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')
	{ cat "$base" && job_cpio "$job" "$nonce"; } >"$OUT/initrd" ||
		die "cannot write the initramfs: is the disk full?"
	truncate --size=64M "$OUT/disk"

	[[ -z $SHOW ]] || show='progress'
	# In a subshell, whose word that the guest was killed nobody wants to read.
	(
		boot "$vm" "$kdir" 2>&1 | tee "$OUT/console" | $show >/dev/null 2>&3 || exit "${PIPESTATUS[0]}"
	) 3>&2 2>/dev/null || rc=$?

	tar -xf "$OUT/disk" -C "$OUT/results" 2>/dev/null || true
	rm -f "$OUT/disk" "$OUT/initrd"
	# The job may have silenced the console: see the log that init saved, too.
	bad=$(said "$OUT/console" "$OUT/results/dmesg" | grep -aE -m 1 -- "$BAD" || true)
	text=$(cat "$OUT/results/verdict" 2>/dev/null || true)

	# A guest that gives its job up prints traces to show where it hangs.
	[[ $text != "$nonce hang "* ]] || verdict hang "${text#"$nonce hang "}"
	[[ -z $bad ]] || verdict splat "the kernel complained: $bad"
	((rc != 137 && rc != 124)) || verdict hang "no end after $((SECONDS - t0)) s: killed"
	[[ -n $text ]] || verdict silent "the guest ended without a verdict"
	[[ $text == "$nonce "* ]] || verdict silent "the verdict is not of this run"
	text=${text#"$nonce "}
	verdict "${text%% *}" "${text#* }"
}

# The job's progress, as it comes.
progress()
{
	local line

	while IFS= read -r line; do
		[[ $line != "@ "* ]] || log "${line:2}"
	done
}

main "$@"
