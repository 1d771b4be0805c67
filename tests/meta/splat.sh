# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash disable=SC1091
# expect: splat the kernel complained:
echo c >/proc/sysrq-trigger
sleep 1000
