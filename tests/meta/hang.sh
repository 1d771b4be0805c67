# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash disable=SC1091
# expect: hang the job took more than 5 s
# timeout: 5
sleep 1000
