# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# This test will load the KUnit tests, and report each of them as its own.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

RESULTS=/sys/kernel/debug/kunit/md_pending/results

md_use percpu
modprobe kunit
insmod "/lib/modules/$(uname -r)/md/md-mod.ko"
insmod "/lib/modules/$(uname -r)/md/md_pending_kunit.ko"
cat $RESULTS
plan "$(sed -n 's/^ *1\.\.\([0-9]*\)$/\1/p' $RESULTS | tail -n 1)"
sed -n 's/^    \(not ok\|ok\) [0-9]* \([a-z_]*\).*/\1 \2/p' $RESULTS | while read -r line; do
	NR=$((NR + 1))
	echo "${line% *} $NR kunit: ${line##* }" | tee -a $KTAP
done
