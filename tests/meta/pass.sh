# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash disable=SC1091
# expect: pass
. /lib.sh
plan 2
ok "true is true" true
md_use percpu
ok "md can be loaded" modprobe md-mod
