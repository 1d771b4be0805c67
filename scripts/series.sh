#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# series.sh edit KERNEL		lay the series out as commits in build/KERNEL/series
# series.sh refresh KERNEL	write those commits back into patches/, drivers/, include/
# series.sh check KERNEL	every file is claimed once, every patch applies to the
#				last one, and the result is what gets built
#
# patches/KERNEL/series has a line for each patch: its file, and the new files
# that it brings in whole. A new file is never touched by a later patch.

# shellcheck source=scripts/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# The parts of a kernel tree that the series may touch.
SCOPE=(MAINTAINERS drivers/md include/trace/events)

# our_files: what must be claimed by the series
our_files()
{
	(cd "$TOP" && find drivers include/trace -type f | sort)
}

# series_lines KERNEL
series_lines()
{
	awk '!/^#/ && NF' "$TOP/patches/$1/series"
}

# message PATCH: its text without the mail header
message()
{
	awk '/^---$/ { exit } !body && /^Subject: / { sub(/^Subject: (\[[^]]*\] )?/, ""); print; next }
		!body && /^$/ { body = 1 } body' "$1"
}

# lay_out KERNEL SRC DIR: a scratch repository, one commit per patch
lay_out()
{
	local kernel=$1 src=$2 dir=$3 patch files f
	local git=(git -C "$dir" -c user.name=md-percpu -c user.email=md-percpu@localhost
		-c commit.gpgsign=false -c core.hooksPath=/dev/null)

	rm -rf "$dir"
	mkdir -p "$dir"
	"${git[@]}" init --quiet --initial-branch=series
	(cd "$src" && find "${SCOPE[@]}" -type f -print0 | cpio --quiet -0 -pdm "$dir")
	"${git[@]}" add --all --force .
	"${git[@]}" commit --quiet --message "stock Linux $kernel, ${SCOPE[*]}"
	"${git[@]}" tag base
	while read -r patch files; do
		[[ -f $TOP/patches/$kernel/$patch ]] ||
			die "patches/$kernel/series names $patch, which is not there"
		# Without a diff there is nothing to apply.
		if grep -q '^diff --git' "$TOP/patches/$kernel/$patch"; then
			"${git[@]}" apply --index --whitespace=error-all "$TOP/patches/$kernel/$patch" ||
				die "patches/$kernel/$patch does not apply"
		fi
		for f in $files; do
			[[ -e $TOP/$f ]] || die "patches/$kernel/series: there is no $f"
			[[ ! -e $dir/$f ]] || die "$f is claimed twice, or is upstream's"
			mkdir -p "$dir/${f%/*}"
			cp "$TOP/$f" "$dir/$f"
			"${git[@]}" add --force "$f"
		done
		message "$TOP/patches/$kernel/$patch" |
			"${git[@]}" commit --quiet --file=-
	done < <(series_lines "$kernel")
}

# pristine DIR HEAD-FILE: nothing in the scratch repository would be lost
pristine()
{
	[[ -d $1 ]] || return 0
	[[ -z $(git -C "$1" status --porcelain) && -e $2 ]] &&
		[[ $(git -C "$1" rev-parse HEAD) == $(<"$2") ]]
}

edit()
{
	local dir=$BUILD/$1/series src

	pristine "$dir" "$BUILD/$1/series.head" ||
		die "build/$1/series has work that 'make refresh' has not taken over; remove it to start anew"
	src=$("$TOP/scripts/fetch.sh" "$1")
	lay_out "$1" "$src" "$dir"
	git -C "$dir" rev-parse HEAD >"$BUILD/$1/series.head"
	log "the series is in build/$1/series: $(git -C "$dir" rev-list --count base..) commits on tag 'base'"
}

refresh()
{
	local kernel=$1 dir=$BUILD/$1/series new commit subject slug n=0 added

	[[ -d $dir ]] || die "build/$kernel/series is not there: run 'make edit' first"
	git -C "$dir" diff --quiet HEAD || die "build/$kernel/series has changes that are not committed"
	new=$(mktemp -d "$BUILD/$kernel/refresh.XXXXXX")
	echo "# SPDX-License-Identifier: GPL-2.0-only" >"$new/series"
	echo "# patch, and the new files that it brings in" >>"$new/series"
	for commit in $(git -C "$dir" rev-list --reverse base..); do
		n=$((n + 1))
		subject=$(git -C "$dir" show --no-patch --format=%s "$commit")
		slug=$(tr -cs 'a-zA-Z0-9_\n' - <<<"$subject")
		slug=$(printf '%04d-%s.patch' $n "${slug%-}")
		mapfile -t added < <(git -C "$dir" diff --name-only --diff-filter=A "$commit^" "$commit")
		git -C "$dir" diff --quiet --diff-filter=DRT "$commit^" "$commit" ||
			die "$subject: removes or renames a file of the kernel"
		{
			echo "Subject: [PATCH] $subject"
			echo
			git -C "$dir" show --no-patch --format=%b "$commit"
			echo ---
			git -C "$dir" diff --stat --diff-filter=M "$commit^" "$commit"
			echo
			git -C "$dir" diff --no-color --diff-filter=M "$commit^" "$commit"
		} >"$new/$slug"
		echo "$slug ${added[*]}" | sed 's/ *$//' >>"$new/series"
	done
	# A later commit that changes an added file would show as a diff against it.
	while read -r added; do
		! grep -lF "diff --git a/$added " "$new"/*.patch ||
			die "$added is new in this series, but changed by the patch above as well: squash them"
		install -D -m 644 "$dir/$added" "$TOP/$added"
	done < <(git -C "$dir" diff --name-only --diff-filter=A base HEAD)
	# What the series no longer brings in is gone.
	our_files | while read -r added; do
		[[ -e $dir/$added ]] || rm "$TOP/$added"
	done
	rm -f "$TOP/patches/$kernel"/*.patch
	mv "$new"/* "$TOP/patches/$kernel/"
	rmdir "$new"
	git -C "$dir" rev-parse HEAD >"$BUILD/$kernel/series.head"
	log "patches/$kernel: $n patches"
}

check()
{
	local dir=$BUILD/$1/series-check src f

	our_files | while read -r f; do
		(($(series_lines "$1" | tr ' ' '\n' | grep -cxF -- "$f" || true) == 1)) ||
			die "$f is not claimed exactly once by patches/$1/series"
	done
	for f in "$TOP/patches/$1"/*.patch; do
		series_lines "$1" | grep -qE "^${f##*/}( |\$)" ||
			die "patches/$1/${f##*/} is not in the series"
		! grep -qE '^(--- /dev/null|new file mode|Signed-off-by:)' "$f" ||
			die "patches/$1/${f##*/}: a new file in a diff, or a signature"
	done
	src=$("$TOP/scripts/fetch.sh" "$1")
	lay_out "$1" "$src" "$dir"
	"$TOP/scripts/prepare.sh" "$1" >/dev/null
	for f in $(git -C "$dir" diff --name-only base HEAD); do
		case $f in
		MAINTAINERS | drivers/md/Kconfig) continue ;;
		drivers/md/*) cmp "$dir/$f" "$BUILD/$1/percpu/${f#drivers/md/}" ;;
		*) cmp "$dir/$f" "$BUILD/$1/percpu/$f" ;;
		esac || die "$f differs between the series and build/$1/percpu"
	done
	log "the series: $(git -C "$dir" rev-list --count base..) patches, each applies, and they are what is built"
}

main()
{
	case ${1:-} in
	-h | --help) usage; exit ;;
	edit | refresh | check) ;;
	*) die "what shall it be: edit, refresh, or check?" ;;
	esac
	kernel_check "${2:-}"
	need git:git cpio:cpio
	"$1" "$2"
}

main "$@"
