# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# This test will load the KUnit tests, and report each of them as its own.

# shellcheck source=tests/guest/lib.sh
. /lib.sh

RESULTS=/sys/kernel/debug/kunit

md_use percpu
modprobe kunit
insmod "/lib/modules/$(uname -r)/md/md-mod.ko"
for module in /lib/modules/"$(uname -r)"/md/*_kunit.ko; do
	insmod "$module"
done
cat $RESULTS/*/results
plan "$(sed -n 's/^    1\.\.\([0-9]*\)$/\1/p' $RESULTS/*/results | awk '{ n += $1 } END { print n + 0 }')"
sed -n 's/^    \(not ok\|ok\) [0-9]* \([a-z_]*\).*/\1 \2/p' $RESULTS/*/results | while read -r line; do
	NR=$((NR + 1))
	echo "${line% *} $NR kunit: ${line##* }" | tee -a $KTAP
done
