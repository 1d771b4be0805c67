# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash disable=SC1091
# expect: silent the guest ended without a verdict
poweroff -f
sleep 1000
