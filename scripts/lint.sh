#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# lint.sh KERNEL: what can be checked without running anything: shellcheck, SPDX
# lines, the series (every file claimed once, every patch applies), checkpatch
# --strict on what the series adds, kernel-doc, and that Kbuild builds all that
# sees md's structures. Prints TAP; exit status 1 if one fails.

# shellcheck disable=SC2317 # the lint_ functions are called by name
# shellcheck source=scripts/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

shell_files()
{
	(cd "$TOP" && find .ci scripts tests -type f \( -name '*.sh' -o -name init -o -path .ci/run \) | sort)
}

lint_shellcheck()
{
	# shellcheck disable=SC2046 # names without blanks
	(cd "$TOP" && shellcheck -x $(shell_files))
}

lint_spdx()
{
	local f bad=0

	while read -r f; do
		head -n 4 "$TOP/$f" | grep -q 'SPDX-License-Identifier: GPL-2.0' && continue
		echo "$f has no SPDX line"
		bad=1
	done < <(cd "$TOP" && find . -path ./build -prune -o -path ./.git -prune -o -path ./outgoing -prune -o \
		-type f ! -name COPYING ! -name .checkpatch.conf ! -path './patches/*.patch' ! -name '*.svg' -print)
	return "$bad"
}

lint_series()
{
	"$TOP/scripts/series.sh" check "$KERNEL"
}

lint_checkpatch()
{
	local mails=$BUILD/$KERNEL/checkpatch

	rm -rf "$mails"
	git -C "$BUILD/$KERNEL/series-check" format-patch --quiet --output-directory "$mails" base..
	# It leaves a file of its own where it runs.
	cp "$TOP/.checkpatch.conf" "$mails/"
	(cd "$mails" && perl "$SRC/scripts/checkpatch.pl" --strict --quiet ./*.patch)
}

lint_kernel_doc()
{
	# shellcheck disable=SC2046 # names without blanks
	(cd "$TOP" && python3 "$SRC/tools/docs/kernel-doc" -none -Wall -Werror \
		$(find drivers include/trace -name '*.[ch]' ! -path '*/tests/*'))
}

lint_module_set()
{
	local file object bad=0

	# A file's object is in the set, or part of one that is.
	while read -r file; do
		object=${file##*/}
		object=${object%.c}.o
		[[ $object != md-autodetect.o ]] || continue # not in a modular md
		{ sed -n 's/^md-set := //p' "$TOP/Kbuild"
			sed -n -E '/^(md-mod|raid456|linear)-/p' "$BUILD/$KERNEL/percpu/Makefile"
		} | tr -s ' \t' '\n' | grep -qxF -- "$object" && continue
		echo "$file sees md's structures, but Kbuild does not build $object"
		bad=1
	done < <(grep -lE '^#include "(md|md-cluster|raid1|raid5|raid10)\.h"' "$BUILD/$KERNEL/percpu"/*.c)
	return "$bad"
}

main()
{
	local name n=0 rc=0 out

	[[ ${1:-} != -h && ${1:-} != --help ]] || { usage; exit; }
	KERNEL=${1:-}
	kernel_check "$KERNEL"
	need shellcheck:shellcheck perl:perl python3:python3 git:git
	SRC=$("$TOP/scripts/fetch.sh" "$KERNEL")
	echo "TAP version 13"
	echo "1..6"
	for name in shellcheck spdx series checkpatch kernel_doc module_set; do
		n=$((n + 1))
		if out=$("lint_$name" 2>&1); then
			echo "ok $n - lint: $name"
		else
			# shellcheck disable=SC2001 # each line
			sed 's/^/# /' <<<"$out"
			echo "not ok $n - lint: $name"
			rc=1
		fi
	done
	exit "$rc"
}

main "$@"
