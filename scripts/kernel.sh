#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# kernel.sh KERNEL VM: build the test kernel for VM from the kernel's source and
# tests/kernel, and print its folder: linux (the image to
# boot), build (what modules are built against), root (its modules, installed).
# It is cached by the content of all that it is made from.
#
# kernel.sh --check-config CONFIG FRAGMENT...: only see that each line of the
# fragments holds in CONFIG; what does not is printed, exit status 1.

# shellcheck source=scripts/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# source_id TREE: what tells one source from another
source_id()
{
	if [[ $1 == "$CACHE"/* ]]; then
		echo "$1"
	else
		# What make goes by: names, sizes and times.
		find "$1" -name .git -prune -o -type f -printf '%P %s %T@\n' | sort | sha256sum
	fi
}

# check_config CONFIG FRAGMENT...: each line of the fragments holds in CONFIG
check_config()
{
	local config=$1 line bad=()

	shift
	while read -r line; do
		case $line in
		CONFIG_*=n) line="# ${line%=n} is not set" ;;
		CONFIG_* | '# CONFIG_'*' is not set') ;;
		*) continue ;;
		esac
		grep -qxF -- "$line" "$config" && continue
		# What the kernel does not even offer is not set either.
		if [[ $line == '# '* ]] && ! grep -q "^${line:2:-11}=" "$config"; then
			continue
		fi
		bad+=("$line")
	done < <(cat "$@" | tac | awk '
		match($0, /CONFIG_[A-Za-z0-9_]+/) && seen[substr($0, RSTART, RLENGTH)]++ { next }
		{ print }')
	((${#bad[@]} == 0)) || {
		echo "options that the kernel's configuration dropped:"
		printf '  %s\n' "${bad[@]}"
		return 1
	}
}

# fragments VM: of the configuration; the last one that names an option counts
fragments()
{
	local f

	for f in base "${1%%-*}" "${1#*-}" "$1"; do
		f=$TOP/tests/kernel/$f.config
		[[ ! -e $f ]] || echo "$f"
	done | uniq
}

# merge_config SRC OUT ARCH VM: tinyconfig and the fragments
merge_config()
{
	local src=$1 out=$2
	local frags mk=(make -C "$src" "O=$out" "ARCH=$3")

	mapfile -t frags < <(fragments "$4")
	"${mk[@]}" tinyconfig &&
		"$src/scripts/kconfig/merge_config.sh" -m -O "$out" "$out/.config" "${frags[@]}" &&
		"${mk[@]}" olddefconfig &&
		check_config "$out/.config" "${frags[@]}"
}

main()
{
	local kernel vm src arch key dir out target patches patch mk

	[[ ${1:-} != -h && ${1:-} != --help ]] || { usage; exit; }
	if [[ ${1:-} == --check-config ]]; then
		shift
		check_config "$@" || exit 1
		return
	fi
	kernel=${1:-}
	vm=${2:-}
	kernel_check "$kernel"
	vm_check "$vm"
	need "${NEED_BUILD[@]}"
	src=$("$TOP/scripts/fetch.sh" "$kernel")
	[[ ! -e $src/.config && ! -d $src/include/config ]] ||
		die "$src has been built in place; run there: make mrproper"
	patches=$TOP/tests/kernel/${vm%%-*}
	case $vm in
	uml*) arch=um target=linux ;;
	qemu*) arch=x86_64 target=vmlinux ;;
	esac

	key=$({
		echo "1 $target" # count up when the way it is built changes
		source_id "$src"
		gcc --version
		fragments "$vm" | xargs cat
		[[ ! -d $patches ]] || cat "$patches"/*.patch
	} | sha256sum | cut -c1-12)
	dir=$CACHE/kernel/$kernel-$vm-$key
	lock "kernel-$vm"
	if [[ -e $dir/.done ]]; then
		echo "$dir"
		return
	fi

	log "building the $vm test kernel from ${src} (some 10 minutes on two cores)"
	out=$dir/build
	mkdir -p "$out"
	if [[ -d $patches ]]; then
		rm -rf "$dir/src"
		log "patching a copy of the source for $vm"
		cp -al "$src" "$dir/src" 2>/dev/null || {
			rm -rf "$dir/src"
			cp -a "$src" "$dir/src"
		}
		rm -rf "$dir/src/.git"
		src=$dir/src
		for patch in "$patches"/*.patch; do
			GIT_CEILING_DIRECTORIES=$dir git -C "$src" apply --whitespace=nowarn "$patch" ||
				die "${patch#"$TOP"/} does not apply to $src"
		done
	fi
	run_logged "$dir/config.log" "configuring the $vm kernel" merge_config "$src" "$out" "$arch" "$vm"
	mk=(make -C "$src" "O=$out" "ARCH=$arch" "-j$NCPU")
	run_logged "$dir/build.log" "building the $vm kernel" "${mk[@]}"
	rm -rf "$dir/root"
	run_logged "$dir/install.log" "installing the $vm kernel's modules" \
		"${mk[@]}" modules_install "INSTALL_MOD_PATH=$dir/root" DEPMOD=true
	cp "$out/$target" "$dir/linux"
	touch "$dir/.done"
	log "the $vm test kernel is ready"
	echo "$dir"
}

main "$@"
