#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh KERNEL [VM]: every quick test. Lint, litmus and the model, then the controls
# of the harness, guests that must be found failed; if all that is good, on the x86
# kernel in QEMU the KUnit tests and the meter's controls, and in UML the
# functional tests of tests/md, several guests at a time.
#
# With VM, uml-debug, only the tests of tests/md, on that kernel, and the long form of
# those that have one, as with LONG=1. TESTS="010 030" in the environment: only those
# of them. What a guest left is in
# build/KERNEL/VM/check/TEST. Ends with "N passed, N failed, N skipped";
# exit status 1 if one failed.

# shellcheck disable=SC2317 # much is called by name
# shellcheck source=scripts/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

PASSED=0 FAILED=0 SKIPPED=0
GUEST_MB=2560
# RUNNING[PID] of what runs: its output goes there
declare -A RUNNING=()
trap 'for PID in "${!RUNNING[@]}"; do kill -INT -- "-$PID" 2>/dev/null; done' EXIT

# start NAME COMMAND...: as soon as there is room, in a process group of its own. It
# prints its results, "ok - ..." and "not ok - ...", and fails for nothing but itself
start()
{
	local log=$BUILD/check/$1.log

	reap $((LANES - 1))
	shift
	set -m
	"$@" >"$log" 2>&1 &
	set +m
	RUNNING[$!]=$log
}

# reap LEFT: count and show what those said that have ended, until no more than LEFT run
reap()
{
	local line pid rc

	while ((${#RUNNING[@]} > $1)); do
		rc=0
		wait -n -p pid "${!RUNNING[@]}" || rc=$?
		((rc == 0)) || echo "not ok - $(basename "${RUNNING[$pid]}" .log): exit status $rc" >>"${RUNNING[$pid]}"
		while IFS= read -r line; do
			case $line in
			"ok - "*" # SKIP") SKIPPED=$((SKIPPED + 1)) ;;
			"ok - "*) PASSED=$((PASSED + 1)) ;;
			"not ok - "*) FAILED=$((FAILED + 1)) ;;
			esac
			echo "$line"
		done <"${RUNNING[$pid]}"
		unset "RUNNING[$pid]"
	done
}

# summary: the last line, and the end
summary()
{
	log "$(du -sh "$BUILD" | cut -f1) in build/"
	echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
	exit $((FAILED > 0))
}

# tap COMMAND...: the results of a command that says TAP
tap()
{
	local line plan=0 n=0 bad=0 rc=0 out

	out=$("$@") || rc=$?
	while IFS= read -r line; do
		case $line in
		1..*) plan=${line#1..} ;;
		"ok "*) n=$((n + 1)); echo "ok - ${line#ok * - }" ;;
		"not ok "*) n=$((n + 1)) bad=1; echo "not ok - ${line#not ok * - }" ;;
		"TAP version"*) ;;
		*) echo "$line" ;;
		esac
	done <<<"$out"
	((n > 0 && n == plan)) || echo "not ok - ${1##*/}: $n of $plan results"
	((rc == 0 || bad)) || echo "not ok - ${1##*/}: exit status $rc"
}

# word FILE NAME: what a test's head says of itself
word()
{
	sed -n "s/^# $2: //p" "$1" | head -n 1
}

# control KERNEL FILE: a guest whose verdict is known beforehand
control()
{
	local name=${2##*/} out want got rc=0 set

	name=${name%.sh}
	out=$BUILD/$1/uml/check/meta-$name
	want=$(word "$2" expect)
	set=$(word "$2" 'set')
	"$TOP/scripts/vm.sh" --out "$out" --timeout "$(word "$2" timeout | grep . || echo 60)" \
		${set:+--set "$set"} "$1" uml "$2" || rc=$?
	got=$(<"$out/verdict")
	case ${want%% *} in
	pass) set=0 ;;
	skip) set=4 ;;
	*) set=1 ;;
	esac
	if [[ -n $want && $got == "$want"* && $rc == "$set" ]]; then
		echo "ok - control $name: $got"
	else
		echo "not ok - control $name: '$got' and status $rc, but '$want' was expected"
	fi
}

# control_config: the check of the test kernels' configuration sees what is missing
control_config()
{
	local dir=$BUILD/check-config line want got

	mkdir -p "$dir"
	printf 'CONFIG_HERE=y\n# CONFIG_OFF is not set\n' >"$dir/config"
	while read -r want line; do
		echo "$line" >"$dir/fragment"
		got=dropped
		! "$TOP/scripts/kernel.sh" --check-config "$dir/config" "$dir/fragment" >/dev/null ||
			got=holds
		if [[ $got == "$want" ]]; then
			echo "ok - control config: $got: $line"
		else
			echo "not ok - control config: $got: $line"
		fi
	done <<-END
		holds CONFIG_HERE=y
		holds # CONFIG_OFF is not set
		holds # CONFIG_UNKNOWN is not set
		dropped CONFIG_HERE=m
		dropped CONFIG_OFF=y
		dropped CONFIG_UNKNOWN=m
		dropped # CONFIG_HERE is not set
	END
}

# functional KERNEL VM FILE: prints its results
functional()
{
	local name=${3##*/} out t0=$SECONDS rc=0 more=()

	name=${name%.sh}
	out=$BUILD/$1/$2/check/$name
	[[ $2 != *-* && -z ${LONG:-} ]] || more=(--timeout 3000 --set LONG=1)
	more+=(--cpus "$(word "$3" cpus | grep . || echo 2)")
	"$TOP/scripts/vm.sh" --out "$out" --timeout 420 --mem "$GUEST_MB" "${more[@]}" --set VARIANT=percpu "$1" "$2" "$3" || rc=$?
	sed -nE "s/^(ok|not ok) [0-9]* *(- )?/\\1 - $2 $name: /p" "$out/results/ktap" 2>/dev/null || true
	case $rc in
	0) ;;
	4) echo "ok - $2 $name: $(<"$out/verdict") # SKIP" ;;
	*)
		grep -q "^not ok" "$out/results/ktap" 2>/dev/null ||
			echo "not ok - $2 $name: $(<"$out/verdict")"
		echo "# $(<"$out/verdict"); see ${out#"$TOP"/}/console, whose end is:"
		tail -n 25 "$out/console" | sed 's/^/# /'
		;;
	esac
	echo "# $2 $name: $((SECONDS - t0)) s"
}

# test_one KERNEL VM FILE
test_one()
{
	log "$2: $(basename "$3" .sh): $(sed -n 's/^# This test will //p' "$3" | head -n 1)..."
	mkdir -p "$BUILD/$1/$2/check"
	start "$2-$(basename "$3" .sh)" functional "$@"
}

# tests KERNEL VM FILE...: those that compare times one by one, at the end
tests()
{
	local kernel=$1 vm=$2 file

	shift 2
	for file; do
		[[ -n $(word "$file" alone) ]] || test_one "$kernel" "$vm" "$file"
	done
	reap 0
	for file; do
		[[ -z $(word "$file" alone) ]] || { test_one "$kernel" "$vm" "$file"; reap 0; }
	done
}

main()
{
	local kernel vm file t files=()

	[[ ${1:-} != -h && ${1:-} != --help ]] || { usage; exit; }
	kernel=${1:-}
	vm=${2:-uml}
	kernel_check "$kernel"
	vm_check "$vm"
	for t in ${TESTS:-}; do
		file=$(find "$TOP/tests/md" -name "$t*.sh")
		[[ -f $file ]] || die "TESTS: $t is not one test of tests/md: $(cd "$TOP/tests/md" && echo *.sh)"
		files+=("$file")
	done

	unset KDIR
	ksrc_check "$kernel"
	rm -rf "$BUILD/check"
	mkdir -p "$BUILD/check"
	lock "run${BUILD//\//-}"
	# Guests wait, too: half as many again as there are CPUs.
	LANES=$(awk -v mb="$GUEST_MB" -v most=$((NCPU * 3 / 2)) '/^MemAvailable:/ {
		n = int($2 / 1024 / mb); print (n < 1 ? 1 : n > most ? most : n) }' /proc/meminfo)
	if ((${#files[@]} > 0)) || [[ $vm != uml ]]; then
		build_guest "$kernel" "$vm"
		((${#files[@]} > 0)) || files=("$TOP"/tests/md/*.sh)
	else
		files=("$TOP"/tests/md/*.sh)
		# shellcheck disable=SC2046 # words
		need "${NEED_BUILD[@]}" $(need_vm qemu) shellcheck:shellcheck gnuplot:gnuplot-nox \
			objdump:binutils pahole:dwarves spin:spin
		log "lint, litmus, the states of the barrier, the model"
		start lint tap "$TOP/scripts/lint.sh" "$kernel"
		start litmus tap "$TOP/scripts/litmus.sh" "$kernel"
		start spin tap "$TOP/scripts/spin.sh" --quick
		start model tap "$TOP/scripts/model.py" --check
		gcc -O2 -Wall -pthread -o "$BUILD/line" "$TOP/tests/bench/line.c"
		start line tap "$BUILD/line" --check
		reap 0
		build_guest "$kernel" uml
		log "the controls of the harness"
		start config control_config
		for file in "$TOP"/tests/meta/*.sh; do
			start "meta-$(basename "$file" .sh)" control "$kernel" "$file"
		done
		reap 0
		((FAILED == 0)) || {
			log "failed above: the rest would be worth little, and is left out"
			summary
		}
		build_guest "$kernel" qemu
		log "the meter's controls"
		start members tap "$TOP/tests/c2c/members.sh" "$BUILD/$kernel/qemu/stock"
		start meter tap "$TOP/scripts/c2c.sh" "$kernel" control
		test_one "$kernel" qemu "$TOP/tests/md/060-kunit.sh"
	fi
	tests "$kernel" "$vm" "${files[@]}"

	summary
}

main "$@"
