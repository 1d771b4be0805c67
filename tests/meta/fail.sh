# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash disable=SC1091
# expect: fail 1 of 2: not ok 2 - false
. /lib.sh
plan 2
ok "- true" true
ok "- false" false
