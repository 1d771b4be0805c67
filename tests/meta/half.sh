# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash disable=SC1091
# expect: fail stopped half way: 1 of 3 results
. /lib.sh
plan 3
ok "the first" true
