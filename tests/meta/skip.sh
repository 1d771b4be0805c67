# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash disable=SC1091
# expect: skip there is no tape drive
. /lib.sh
skip_all "there is no tape drive"
