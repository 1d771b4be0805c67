// SPDX-License-Identifier: GPL-2.0-only
/*
 * The job that the meter counts: an exact number of I/Os, one thread a CPU.
 *
 *	job DEVICE randread|randwrite|fsync CPUS IOS [DEPTH]
 *
 * Each thread is bound to its CPU and does IOS / CPUS I/Os of 4 KiB at random
 * places of DEVICE, DEPTH in flight (fsync: one write, then fsync, at a time).
 * Each has its own open file: the reference count of a shared one would be counted.
 * A first round warms everything up. Then all meet, the window opens, all do
 * their I/O, all meet, and the window closes: see plugin.c. The meeting is by
 * spinning in userspace, so that no futex is counted. Prints the number of I/Os
 * in the window.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/fs.h>

#define MARK	0x6d6470657000UL	/* also in plugin.c */
#define BS	4096
#define DEPTH	64

static int cpus, depth = 32;
static const char *device;
static int rw_write, rw_fsync;
static long ios;
static uint64_t blocks;
static volatile int arrived[16];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int open_device(void)
{
	int fd = open(device, (rw_write ? O_RDWR : O_RDONLY) | O_DIRECT);

	if (fd < 0)
		die(device);
	return fd;
}

static void meet(int point)
{
	__atomic_fetch_add(&arrived[point], 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&arrived[point], __ATOMIC_SEQ_CST) < cpus)
		__builtin_ia32_pause();
}

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void do_aio(int fd, aio_context_t ctx, char *buf, uint64_t *rnd, long n)
{
	struct iocb cb[DEPTH], *list[DEPTH];
	struct io_event ev[DEPTH];

	while (n > 0) {
		int want = n < depth ? n : depth, i, sent, got;

		for (i = 0; i < want; i++) {
			memset(&cb[i], 0, sizeof(cb[i]));
			cb[i].aio_fildes = fd;
			cb[i].aio_lio_opcode = rw_write ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD;
			cb[i].aio_buf = (uintptr_t)(buf + i * BS);
			cb[i].aio_nbytes = BS;
			cb[i].aio_offset = next(rnd) % blocks * BS;
			list[i] = &cb[i];
		}
		for (sent = 0; sent < want; sent += i) {
			i = syscall(SYS_io_submit, ctx, want - sent, list + sent);
			if (i <= 0)
				die("io_submit");
		}
		for (got = 0; got < want; got += i) {
			i = syscall(SYS_io_getevents, ctx, want - got, want - got, ev, NULL);
			if (i <= 0)
				die("io_getevents");
			for (int k = 0; k < i; k++)
				if (ev[k].res != BS) {
					errno = -ev[k].res;
					die("I/O");
				}
		}
		n -= want;
	}
}

static void do_fsync(int fd, char *buf, uint64_t *rnd, long n)
{
	while (n--) {
		if (pwrite(fd, buf, BS, next(rnd) % blocks * BS) != BS)
			die("write");
		if (fsync(fd))
			die("fsync");
	}
}

static void round_of(int fd, aio_context_t ctx, char *buf, uint64_t *rnd, long n)
{
	if (rw_fsync)
		do_fsync(fd, buf, rnd, n);
	else
		do_aio(fd, ctx, buf, rnd, n);
}

static void *thread(void *arg)
{
	int cpu = (intptr_t)arg, fd;
	uint64_t rnd = 0x9e3779b97f4a7c15ULL * (cpu + 1);
	aio_context_t ctx = 0;
	cpu_set_t set;
	char *buf;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
	fd = open_device();
	buf = aligned_alloc(BS, DEPTH * BS);
	if (!buf)
		die("malloc");
	memset(buf, cpu + 1, DEPTH * BS);
	if (!rw_fsync && syscall(SYS_io_setup, DEPTH, &ctx))
		die("io_setup");

	round_of(fd, ctx, buf, &rnd, ios / cpus / 4 + 1);
	meet(0);
	if (cpu == 0)
		*(volatile int *)MARK = 1;
	meet(1);
	round_of(fd, ctx, buf, &rnd, ios / cpus);
	meet(2);
	if (cpu == 0)
		*(volatile int *)MARK = 0;
	meet(3);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	uint64_t size;

	if (argc < 5)
		return fprintf(stderr, "usage: job DEVICE randread|randwrite|fsync CPUS IOS [DEPTH]\n"), 2;
	rw_fsync = !strcmp(argv[2], "fsync");
	rw_write = rw_fsync || !strcmp(argv[2], "randwrite");
	cpus = atoi(argv[3]);
	ios = atol(argv[4]);
	if (argc > 5)
		depth = atoi(argv[5]);
	if (cpus < 1 || cpus > 64 || ios < cpus || depth < 1 || depth > DEPTH)
		return fprintf(stderr, "job: a number is out of range\n"), 2;
	device = argv[1];
	if (ioctl(open_device(), BLKGETSIZE64, &size))
		die("BLKGETSIZE64");
	blocks = size / BS;
	if (mmap((void *)MARK, BS, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE, -1, 0) != (void *)MARK)
		die("mmap");
	for (intptr_t i = 0; i < cpus; i++)
		if (pthread_create(&threads[i], NULL, thread, (void *)i))
			die("pthread_create");
	for (int i = 0; i < cpus; i++)
		pthread_join(threads[i], NULL);
	printf("ios %ld\n", ios / cpus * cpus);
	return 0;
}
