// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records in files, each made durable before it is acknowledged.
 *
 *	records write DIR ACKS THREADS	until killed
 *	records check DIR ACKS THREADS
 *
 * Thread T writes its records, one block each, one after the other: RECORDS to a
 * file of its own, DIR/T.0, then to DIR/T.1 and so on; the last KEEP files stay.
 * After fsync has returned without an error, it counts the record in ACKS, a file
 * that must outlive DIR. At the first error, the program ends.
 *
 * check reads all that was acknowledged and is not in a file that was removed,
 * prints "N acknowledged, N lost", and exits with 1 if any is missing or wrong.
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
#define KEEP	3
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

/* name: of the file of record N, in a buffer of the thread's */
static const char *name(int thread, uint64_t n)
{
	static __thread char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%d.%llu", dir, thread,
		 (unsigned long long)n / RECORDS);
	return path;
}

static void *writer(void *arg)
{
	int thread = (long)arg, fd = -1;
	uint64_t block[BLOCK / 8], n;

	for (n = 0;; n++) {
		if (n % RECORDS == 0) {
			if (fd >= 0)
				close(fd);
			if (n >= KEEP * RECORDS)
				unlink(name(thread, n - KEEP * RECORDS));
			fd = open(name(thread, n), O_CREAT | O_TRUNC | O_WRONLY, 0600);
			if (fd < 0)
				die("open");
		}
		fill(block, thread, n);
		if (pwrite(fd, block, BLOCK, n % RECORDS * BLOCK) != BLOCK)
			die("write");
		if (fsync(fd))
			die("fsync");
		acks[thread] = n + 1;
	}
	return NULL;
}

static uint64_t check(int thread)
{
	uint64_t want[BLOCK / 8], got[BLOCK / 8], n, lost = 0;
	uint64_t file = acks[thread] / RECORDS;
	int fd = -1;

	/* The next file may have been opened, and the one KEEP before it removed. */
	for (n = file < KEEP ? 0 : (file - KEEP + 1) * RECORDS; n < acks[thread]; n++) {
		if (n % RECORDS == 0) {
			if (fd >= 0)
				close(fd);
			fd = open(name(thread, n), O_RDONLY);
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
