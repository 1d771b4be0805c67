# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Sourced by every script: paths, messages, the table of kernels, host
# packages, and an apt configuration of the project's own.

set -Eeuo pipefail
shopt -s inherit_errexit
# die() has said it: nothing to add for status 99.
trap 'STATUS=$?; ((STATUS == 99)) || printf "%s: error: status %s from: %s (%s:%s)\n" "$SELF" "$STATUS" "$BASH_COMMAND" "${BASH_SOURCE[0]##*/}" "$LINENO" >&2' ERR

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=$TOP/build
[[ $TOP != *[[:space:]]* ]] || {
	echo "error: the kernel's make cannot work in a folder with a blank in its name: $TOP" >&2
	exit 1
}
CACHE=${XDG_CACHE_HOME:-${HOME:?}/.cache}/md-percpu
# shellcheck disable=SC2034 # for the scripts
NCPU=$(nproc)
SELF=${0##*/}
export LC_ALL=C
umask 022
trap 'exit 130' INT
trap 'exit 143' TERM

# A caller's make or git hook must not reach the ones that run from here.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES KCFLAGS CC LLVM ARCH CROSS_COMPILE
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_PREFIX
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1

# The steps of one command share one clock, however many scripts it takes.
export MD_PERCPU_T0=${MD_PERCPU_T0:-$(date +%s)}

die()
{
	printf '%s: error: %s\n' "$SELF" "$*" >&2
	exit 99
}

warn()
{
	printf '%s: warning: %s\n' "$SELF" "$*" >&2
}

# log STEP...: one line of progress with the time since the command began
log()
{
	local t=$(($(date +%s) - MD_PERCPU_T0))

	printf '[%3d:%02d] %s\n' $((t / 60)) $((t % 60)) "$*" >&2
}

# usage: print the comment at the head of the script, for --help
usage()
{
	sed -n '/^#!/d; /SPDX-License/d; /^#/!q; s/^# \{0,1\}//; p' "$0" |
		sed '1{ /^$/d; }'
}

# run_logged LOG WHAT COMMAND...: the output into LOG, its end shown on failure.
# Meanwhile say every 20 seconds that it goes on. The command is in the
# foreground, so that Ctrl-C reaches it.
run_logged()
{
	local log=$1 what=$2 ticker rc=0

	shift 2
	mkdir -p "${log%/*}"
	tick "$log" "$what" &
	ticker=$!
	("$@") >"$log" 2>&1 || rc=$?
	kill $ticker 2>/dev/null || true
	wait $ticker 2>/dev/null || true
	((rc == 0)) && return 0
	tail -n 15 "$log" >&2
	(($(df --output=avail "${log%/*}" | tail -n 1) > 20000)) ||
		die "$what failed: the disk is full ($(df -Ph "${log%/*}" | awk 'END { print $4 " free on " $6 }'))"
	! grep -q 'No space left on device' "$log" ||
		die "$what failed: the disk is full ($(df -Ph "${log%/*}" | awk 'END { print $4 " free on " $6 }'))"
	die "$what failed; the whole log is $log"
}

tick()
{
	local t0=$SECONDS next=20

	# Its sleep may outlive the command; the lock must not.
	[[ -z ${LOCK_FD:-} ]] || exec {LOCK_FD}>&-
	while sleep 1 && kill -0 $$ 2>/dev/null; do
		((SECONDS - t0 >= next)) || continue
		log "... $2: $((SECONDS - t0)) s, $(wc -l <"$1") lines of log"
		((next += 20))
	done
}

### Kernels

kernel_names()
{
	awk '!/^#/ && NF { print $1 }' "$TOP/kernels"
}

kernel_primary()
{
	kernel_names | head -n 1
}

# kernel_field NAME COLUMN
kernel_field()
{
	awk -v n="$1" -v c="$2" '!/^#/ && $1 == n { print $c }' "$TOP/kernels"
}

kernel_check()
{
	kernel_names | grep -qxF -- "${1:-}" ||
		die "KERNEL=${1:-} is not one of: $(kernel_names | xargs)"
}

vm_check()
{
	case ${1:-} in
	uml | uml-debug | qemu | qemu-debug | qemu-kcsan) ;;
	*) die "VM=${1:-} is not one of: uml uml-debug qemu qemu-debug qemu-kcsan" ;;
	esac
}

# levels_check "LEVELS"
levels_check()
{
	local l

	[[ -n ${1// /} ]] || die "LEVELS is empty: name some of raid0 raid1 raid10 raid5"
	for l in $1; do
		case $l in
		raid0 | raid1 | raid10 | raid5) ;;
		*) die "LEVELS: $l is not one of: raid0 raid1 raid10 raid5" ;;
		esac
	done
}

# number_check NAME VALUE MIN MAX
number_check()
{
	if [[ ! $2 =~ ^(0|[1-9][0-9]{0,8})$ ]] || (($2 < $3 || $2 > $4)); then
		die "$1=$2 is not a whole number from $3 to $4"
	fi
}

# ksrc_check KERNEL: a tree of the user's is looked at before anything else
ksrc_check()
{
	[[ -z ${KSRC:-} ]] || "$TOP/scripts/fetch.sh" "$1" >/dev/null
}

### Host packages

# need COMMAND-OR-FILE:PACKAGE...: install what is missing as root, else name it
need()
{
	local item what missing=()

	for item; do
		what=${item%%:*}
		if [[ $what == /* ]]; then
			[[ -e $what ]] || missing+=("${item#*:}")
		else
			PATH=$PATH:/usr/sbin:/sbin command -v "$what" >/dev/null ||
				missing+=("${item#*:}")
		fi
	done
	((${#missing[@]})) || return 0
	command -v apt-get >/dev/null ||
		die "these Debian packages (or what they hold) are missing: ${missing[*]}"
	((EUID == 0)) ||
		die "packages are missing; run: sudo apt-get install --no-install-recommends ${missing[*]}"
	log "installing packages: ${missing[*]}"
	mkdir -p "$BUILD"
	run_logged "$BUILD/apt-get.log" "installing ${missing[*]}" install_packages "${missing[@]}"
}

install_packages()
{
	local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120)

	# The lists that are there may be absent or old: ask for them only then.
	"${apt[@]}" install --yes --no-install-recommends "$@" && return
	"${apt[@]}" update &&
		"${apt[@]}" install --yes --no-install-recommends "$@"
}

# What a verb wants beyond the base system, for one call of need().
# shellcheck disable=SC2034 # for the scripts
NEED_BUILD=(gcc:gcc make:make flex:flex bison:bison bc:bc cpio:cpio depmod:kmod
	git:git perl:perl xz:xz-utils python3:python3
	/usr/include/stdlib.h:libc6-dev /usr/include/gelf.h:libelf-dev)

# need_vm VM: likewise, as words
need_vm()
{
	echo fio:fio busybox:busybox dmsetup:dmsetup lvm:lvm2 mkfs.ext4:e2fsprogs mkfs.xfs:xfsprogs dbench:dbench \
		cpio:cpio setpriv:util-linux dpkg-source:dpkg-dev
	[[ $1 != qemu* ]] || echo qemu-system-x86_64:qemu-system-x86
}

# build_patched KERNEL VM SET PATCH: the modules of that set with one patch more, in
# build/KERNEL/VM/SET-and-PATCH, whose name it prints
build_patched()
{
	local name=$3-and-${4##*/} out args=()

	name=${name%.patch}
	out=$BUILD/$1/$2/$name
	rm -rf "$out"
	cp -r "$BUILD/$1/$3" "$out"
	patch --quiet --directory="$out" --strip=3 <"$4" || die "${4#"$TOP"/} does not apply"
	[[ $2 != uml* ]] || args=(ARCH=um)
	run_logged "$out.log" "building $name" \
		make -C "$("$TOP/scripts/kernel.sh" "$1" "$2")/build" "M=$out" "-j$NCPU" "${args[@]}" modules
	strip --strip-debug "$out"/*.ko
	echo "$out"
}

# build_guest KERNEL VM [PROGRAM:PACKAGE...]: all that a guest needs, and these
build_guest()
{
	local kernel=$1 vm=$2

	shift 2
	# shellcheck disable=SC2046 # words
	need "${NEED_BUILD[@]}" $(need_vm "$vm") "$@"
	"$TOP/scripts/modules.sh" "$kernel" "$vm" >/dev/null
	"$TOP/scripts/guest.sh" "$kernel" "$vm" >/dev/null
}

### Debian's archive, through an apt configuration of the project's own

mirror()
{
	local uri

	if [[ -n ${MIRROR:-} ]]; then
		echo "${MIRROR%/}"
		return
	fi
	uri=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
		/etc/apt/sources.list.d/*.sources 2>/dev/null |
		sed -nE 's/^[[:blank:]]*deb[[:blank:]]+(\[[^]]*\][[:blank:]]*)?([^[:blank:]]+).*/\2/p
			s/^[Uu][Rr][Ii][Ss]:[[:blank:]]*([^[:blank:]]+).*/\1/p' |
		grep -E '^[a-z+]+:.*/debian(\.list)?/?$' | head -n 1) || true
	[[ -n $uri ]] ||
		die "no Debian mirror in this machine's apt sources: name one with MIRROR="
	echo "${uri%/}"
}

# apt_own "SUITES" APT-TOOL ARGS...: with the project's own sources and lists.
# SUITE-src is the source packages of SUITE.
apt_own()
{
	local suites=$1 tool=$2 base key suite conf mirror

	shift 2
	key=/usr/share/keyrings/debian-archive-keyring.gpg
	[[ -e $key ]] || die "$key is missing: install debian-archive-keyring"
	base=$CACHE/apt/${suites// /+}
	conf=$base/apt.conf
	mkdir -p "$base/lists/partial" "$base/archives/partial"
	mirror=$(mirror)
	for suite in $suites; do
		case $suite in
		*-src) echo "deb-src [signed-by=$key] $mirror ${suite%-src} main" ;;
		*) echo "deb [signed-by=$key] $mirror $suite main" ;;
		esac
	done >"$base/sources.list"
	cat >"$conf" <<-END
		Dir::Etc::SourceList "$base/sources.list";
		Dir::Etc::SourceParts "/dev/null";
		Dir::State::Lists "$base/lists";
		Dir::Cache "$base";
		APT::Sandbox::User "root";
		// A mirror may lag, or be a snapshot; signatures are checked all the same.
		Acquire::Check-Valid-Until "false";
		Acquire::Languages "none";
		Acquire::Retries "3";
	END
	APT_CONFIG=$conf "$tool" "$@"
}

apt_own_update()
{
	mirror >/dev/null # or die here, not in the log
	log "reading the package lists of: $1"
	run_logged "$CACHE/apt/update.log" "reading the package lists (no network, or MIRROR=$(mirror) does not carry $1?)" \
		apt_own "$1" apt-get --error-on=any update
}

# apt_own_version "SUITES" PACKAGE: the candidate's version
apt_own_version()
{
	apt_own "$1" apt-cache policy "$2" | awk '$1 == "Candidate:" { print $2 }'
}

# apt_own_download "SUITES" DIR PACKAGE...: the .deb files into DIR
apt_own_download()
{
	local suites=$1 dir=$2

	shift 2
	mkdir -p "$dir"
	log "downloading: $*"
	(cd "$dir" && run_logged "$CACHE/apt/download.log" "downloading $*" \
		apt_own "$suites" apt-get download "$@")
}

# apt_own_source "SUITES" DIR PACKAGE: the .dsc and what it names into DIR
apt_own_source()
{
	mkdir -p "$2"
	log "downloading: the source package of $3"
	(cd "$2" && run_logged "$CACHE/apt/download.log" "downloading the source package of $3" \
		apt_own "$1" apt-get source --download-only "$3")
}

### Small things

# sync_tree FROM TO: make TO like FROM; what is equal keeps its time stamp
sync_tree()
{
	local f

	mkdir -p "$2"
	(cd "$2" && find . -type f) | while read -r f; do
		[[ -e $1/$f ]] || rm -f "$2/$f"
	done
	(cd "$1" && find . -type f) | while read -r f; do
		cmp -s "$1/$f" "$2/$f" && continue
		mkdir -p "$2/${f%/*}"
		cp "$1/$f" "$2/$f"
	done
}

# lock NAME: one command at a time; the lock goes when the process ends
lock()
{
	mkdir -p "$CACHE"
	exec {LOCK_FD}>"$CACHE/$1.lock"
	flock --nonblock "$LOCK_FD" && return
	log "waiting for another run that builds the same ($1)"
	flock "$LOCK_FD"
}
