# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash disable=SC1091
# expect: hang no end after
# timeout: 1
# Not even the guest's own watchdog works.
kill -STOP $PPID
for p in /proc/[0-9]*; do
	p=${p#/proc/}
	[ "$p" = 1 ] || [ "$p" = $$ ] || kill -STOP "$p"
done
sleep 1000
