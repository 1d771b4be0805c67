// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records in files, each made durable before it is acknowledged.
 *
 *	records write DIR ACKS THREADS	until killed
 *	records check DIR ACKS THREADS
 *
 * Thread T writes its records, one block each, one after the other: RECORDS to a
 * file of its own, DIR/T.0, then to DIR/T.1 and so on. After fsync has returned
 * without an error, it counts the record in ACKS, a file that must outlive DIR.
 * It ends at the first error.
 *
 * check reads all that was acknowledged, prints "N acknowledged, N lost", and
 * exits with 1 if any is missing or wrong.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BLOCK	4096
#define RECORDS	24
#define THREADS	64

static const char *dir;
static volatile uint64_t *acks;

static void die(const char *what)
{
	fprintf(stderr, "records: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void fill(uint64_t *block, int thread, uint64_t n)
{
	uint64_t x = n * THREADS + thread + 1;
	int i;

	for (i = 0; i < BLOCK / 8; i++) {
		x = x * 6364136223846793005UL + 1442695040888963407UL;
		block[i] = x;
	}
	block[0] = thread;
	block[1] = n;
}

static int open_file(int thread, uint64_t n, int flags)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%d.%llu", dir, thread,
		 (unsigned long long)n / RECORDS);
	return open(path, flags, 0600);
}

static void *writer(void *arg)
{
	int thread = (long)arg, fd = -1, bad = 0;
	uint64_t block[BLOCK / 8], n;

	for (n = 0; !bad; n++) {
		if (n % RECORDS == 0) {
			if (fd >= 0)
				close(fd);
			fd = open_file(thread, n, O_CREAT | O_TRUNC | O_WRONLY);
			if (fd < 0)
				break;
		}
		fill(block, thread, n);
		bad = pwrite(fd, block, BLOCK, n % RECORDS * BLOCK) != BLOCK ||
			fsync(fd);
		if (!bad)
			acks[thread] = n + 1;
	}
	return NULL;
}

static uint64_t check(int thread)
{
	uint64_t want[BLOCK / 8], got[BLOCK / 8], n, lost = 0;
	int fd = -1;

	for (n = 0; n < acks[thread]; n++) {
		if (n % RECORDS == 0) {
			if (fd >= 0)
				close(fd);
			fd = open_file(thread, n, O_RDONLY);
		}
		fill(want, thread, n);
		if (fd < 0 || pread(fd, got, BLOCK, n % RECORDS * BLOCK) != BLOCK ||
		    memcmp(want, got, BLOCK))
			lost++;
	}
	if (fd >= 0)
		close(fd);
	return lost;
}

int main(int argc, char **argv)
{
	uint64_t all = 0, lost = 0;
	pthread_t threads[THREADS];
	long t, n;
	int fd;

	if (argc != 5 || (n = atoi(argv[4])) < 1 || n > THREADS) {
		fprintf(stderr, "usage: records write|check DIR ACKS THREADS\n");
		return 2;
	}
	dir = argv[2];
	fd = open(argv[3], O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, BLOCK))
		die(argv[3]);
	acks = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (acks == MAP_FAILED)
		die(argv[3]);

	if (!strcmp(argv[1], "check")) {
		for (t = 0; t < n; t++) {
			all += acks[t];
			lost += check(t);
		}
		printf("%llu acknowledged, %llu lost\n", (unsigned long long)all,
		       (unsigned long long)lost);
		return lost > 0;
	}

	for (t = 0; t < n; t++)
		if (pthread_create(&threads[t], NULL, writer, (void *)t))
			die("pthread_create");
	for (t = 0; t < n; t++)
		pthread_join(threads[t], NULL);
	return 1;
}
