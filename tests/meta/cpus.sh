# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash disable=SC1091
# expect: fail this guest has 2 CPUs, not 3
# set: CPUS=3
exit 0
