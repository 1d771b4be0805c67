# SPDX-License-Identifier: GPL-2.0-only
# Verbs only: each recipe is one script. `make help` tells them.

KERNEL ?= $(shell awk '!/^\#/ && NF { print $$1; exit }' kernels)
VM ?= uml
export KERNEL VM LEVELS DBENCH JOBS DEPTH RUNTIME ROUNDS RW VCPUS VARIANTS BITMAP IOS TESTS LONG KSRC KDIR MIRROR

.PHONY: help bench check check-long c2c modules kernel fetch edit refresh litmus spin lint clean
.NOTPARALLEL:

help:
	@sed -n 's/^#: \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

bench:
	@scripts/bench.sh "$$KERNEL" "$$VM"
c2c:
	@scripts/c2c.sh "$$KERNEL"
check:
	@scripts/check.sh "$$KERNEL"
check-long:
	@scripts/check.sh "$$KERNEL" uml-debug
lint:
	@scripts/lint.sh "$$KERNEL"
litmus:
	@scripts/litmus.sh "$$KERNEL"
spin:
	@scripts/spin.sh
modules:
	@scripts/modules.sh "$$KERNEL" "$$VM"
kernel:
	@scripts/kernel.sh "$$KERNEL" "$$VM"
fetch:
	@scripts/fetch.sh --update "$$KERNEL"
edit:
	@scripts/series.sh edit "$$KERNEL"
refresh:
	@scripts/series.sh refresh "$$KERNEL"
clean:
	rm -rf build

#: md-percpu: Linux md without shared counters on the I/O path
#:
#: make bench      random reads on stock and percpu in turn; prints the table,
#:                 writes build/bench
#: make c2c        stores to shared cache lines and instructions per I/O, by
#:                 function, stock and percpu; prints a table, and a model of
#:                 the IOPS on up to 128 CPUs; writes build/c2c
#: make check      every quick test; TESTS="010 020" runs only those of tests/md,
#:                 LONG=1 the long form of those that have one
#: make check-long the functional tests, long, on a kernel with KASAN and lockdep;
#:                 also with TESTS=
#: make lint       the static part of check
#: make litmus     the memory-model part of check
#: make spin       the state-space part of check, whole: 3 minutes
#: make modules    both module sets, for the test kernel, or for KDIR=
#: make kernel     the test kernel for VM=
#: make fetch      the newest source package of KERNEL=
#: make edit       the series as commits in build/KERNEL/series, on tag "base"
#: make refresh    those commits back into patches/, drivers/ and include/
#: make clean      remove build/; what was downloaded and the test kernels stay
#:                 in ~/.cache/md-percpu, and can be removed at any time
#:
#: Variables, with their defaults:
#:
#: KERNEL=7.3      one of the file `kernels`
#: VM=uml          uml (native speed) or qemu (the x86 code, slow without KVM);
#:                 uml-debug and qemu-debug with KASAN and lockdep, the latter
#:                 with kmemleak and CPU hotplug; qemu-kcsan
#: LEVELS="raid0 raid1 raid10 raid5"    bench and c2c: which levels
#: JOBS="1 2"      bench: numbers of fio jobs, each on a CPU of its own; with
#:                 RW=fsync of threads, "1 16 128"
#: DEPTH=128       bench: queue depth of a job
#: RUNTIME=2       bench: seconds a run
#: ROUNDS=5        bench: rounds of stock and percpu; 10 for figures to publish
#: RW=randread     bench: randread, or fsync on disks whose flush takes 100 us, or
#:                 resync (check, repair, recovery, reshape) of raid1 and raid10;
#:                 c2c: which I/O, some of randread randwrite fsync
#: DBENCH=5        bench, RW=fsync: seconds of dbench -s a run, 128 clients; 0: none
#: VCPUS=4         c2c: CPUs of the guest, one thread on each
#: IOS=20000       c2c: I/Os that are counted of each, exactly
#: VARIANTS="stock percpu"    c2c: which module sets
#: BITMAP=none     c2c: some of none internal llbitmap
#: KSRC=           a kernel tree to use in place of the source package
#: KDIR=           modules: build folder of the kernel to build for
#: MIRROR=         Debian mirror; from this machine's apt sources by default
#:
#: Missing packages are installed if this runs as root, else named.
