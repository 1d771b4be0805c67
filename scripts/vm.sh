#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# vm.sh [OPTION...] KERNEL VM JOB: boot the guest on the test kernel, run the
# script JOB in it, and judge. What the job leaves in /results comes back.
#
#	--out DIR	where: DIR/console, DIR/results/, DIR/verdict
#	--cpus N	CPUs of the guest (2)
#	--mem MB	its memory (1280)
#	--timeout S	how long the job may take (300)
#	--set NAME=VALUE	a variable for the job; may be repeated
#	--pin		each guest CPU on a CPU of its own (UML)
#	--show		print the job's progress, lines that begin with "@ "
#
# Exit status: 0 passed, 4 skipped, 1 anything else: the guest said so, or it
# said nothing, hung, had too few CPUs, or its kernel complained. DIR/verdict
# says which in one line.

# shellcheck disable=SC2317 # progress is called by name
# shellcheck source=scripts/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

OUT='' CPUS=2 MEM=1280 TIMEOUT=300 SHOW='' PIN='' VARS=()

# The one list of what must not be on a guest's console.
BAD='BUG:|WARNING:|Oops|Kernel panic|general protection|Call Trace:'
BAD+='|INFO: (task|rcu).*(blocked|stall)|soft lockup|KASAN|KCSAN|UBSAN'
BAD+='|unreferenced object|possible .*deadlock|refcount_t:|percpu ref .* <= 0'
BAD+='|Segfault|segfault at|Out of memory'

# verdict WORD TEXT...: write it, say it to the caller by the exit status
verdict()
{
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
	local dir var

	dir=$(mktemp -d "$OUT/job.XXXXXX")
	mkdir -p "$dir/job"
	cp "$1" "$dir/job/run"
	for var in "NONCE=$2" "CPUS=$CPUS" "TIMEOUT=$TIMEOUT" "${VARS[@]}"; do
		printf "%s='%s'\n" "${var%%=*}" "${var#*=}"
	done >"$dir/job/env"
	(cd "$dir" && find job | cpio --quiet -o -H newc -R 0:0)
	rm -rf "$dir"
}

# boot VM KERNEL-FOLDER: until it ends
boot()
{
	# --foreground keeps the guest in our process group, for Ctrl-C; it dies
	# with us in any case.
	local run=(timeout --foreground --signal=KILL $((TIMEOUT + 30))
		setpriv --pdeathsig KILL)

	case $1 in
	uml)
		"${run[@]}" "$2/linux" "mem=${MEM}M" "ncpus=$CPUS" seccomp=on ${PIN:+pincpus} \
			"initrd=$OUT/initrd" "ubd0=$OUT/disk" con=null con0=null,fd:1 \
			panic=-1 loglevel=6 </dev/null
		;;
	qemu)
		"${run[@]}" qemu-system-x86_64 -nodefaults -no-user-config -display none \
			-no-reboot -machine microvm,acpi=on,pcie=off -accel tcg,thread=multi \
			-cpu max,-cx16,-la57 -smp "$CPUS" -m "$MEM" \
			-kernel "$2/linux" -initrd "$OUT/initrd" -serial stdio \
			-append "console=ttyS0 panic=-1 loglevel=6 nokaslr" \
			-drive "file=$OUT/disk,format=raw,if=none,id=out" \
			-device virtio-blk-device,drive=out </dev/null
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
		--pin) PIN=1 ;;
		--show) SHOW=1 ;;
		*) die "unknown option $1" ;;
		esac
		shift
	done
	kernel=${1:?which kernel?}
	vm=${2:?which VM?}
	job=${3:?which job?}
	kernel_check "$kernel"
	vm_check "$vm"
	[[ -n $OUT ]] || OUT=$BUILD/$kernel/$vm/run
	kdir=$("$TOP/scripts/kernel.sh" "$kernel" "$vm")
	base=$BUILD/$kernel/$vm/guest.cpio
	[[ -e $base ]] || base=$("$TOP/scripts/guest.sh" "$kernel" "$vm")

	rm -rf "$OUT"
	mkdir -p "$OUT/results"
	OUT=$(cd "$OUT" && pwd)
	# shellcheck disable=SC2064 # now, not then
	trap "rm -f '$OUT/disk' '$OUT/initrd'" EXIT
	nonce=$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')
	{ cat "$base" && job_cpio "$job" "$nonce"; } >"$OUT/initrd" ||
		die "cannot write the initramfs: is the disk full?"
	truncate --size=64M "$OUT/disk"

	[[ -z $SHOW ]] || show='progress'
	boot "$vm" "$kdir" 2>&1 | tee "$OUT/console" | $show >/dev/null || rc=${PIPESTATUS[0]}

	tar -xf "$OUT/disk" -C "$OUT/results" 2>/dev/null || true
	rm -f "$OUT/disk" "$OUT/initrd"
	bad=$(grep -aE -m 1 -- "$BAD" "$OUT/console" || true)
	text=$(cat "$OUT/results/verdict" 2>/dev/null || true)

	[[ -z $bad ]] || verdict splat "the kernel complained: $bad"
	((rc != 137 && rc != 124)) || verdict hang "no end after $((SECONDS - t0)) s: killed"
	[[ -n $text ]] || verdict silent "the guest ended without a verdict"
	[[ $text == "$nonce "* ]] || verdict silent "the verdict is not of this run"
	# shellcheck disable=SC2086 # the words of the verdict
	verdict ${text#"$nonce "}
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
