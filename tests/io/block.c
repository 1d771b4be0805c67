// SPDX-License-Identifier: GPL-2.0-only
/*
 * One block of 4 KiB, past the page cache.
 *
 *	block write DEVICE BLOCK BYTE [CUT]	fill it with BYTE
 *	block read DEVICE BLOCK [CUT]		print the byte that fills it, or "mixed"
 *
 * With CUT, the memory is in two pieces that are not adjacent, and the first is of CUT
 * bytes: a request that a device with a virtual boundary cannot do, nor split where
 * its blocks are as large. If it fails, the name of the error is printed, and the
 * exit status is 1.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define BLOCK	4096

static void usage(void)
{
	fprintf(stderr, "block write DEVICE BLOCK BYTE [CUT] | read DEVICE BLOCK [CUT]\n");
	exit(2);
}

static int failed(void)
{
	printf("%s\n", strerrorname_np(errno));
	return 1;
}

int main(int argc, char **argv)
{
	int write, args, fd, i, mixed = 0;
	unsigned char *mem;
	struct iovec iov[2];
	size_t cut = 0;
	off_t at;
	ssize_t n;

	if (argc < 2)
		usage();
	write = !strcmp(argv[1], "write");
	args = 4 + write;
	if ((!write && strcmp(argv[1], "read")) || argc < args || argc > args + 1)
		usage();
	if (argc > args)
		cut = strtoul(argv[args], NULL, 0);
	if (cut >= BLOCK)
		usage();
	at = strtoull(argv[3], NULL, 0) * BLOCK;
	mem = aligned_alloc(BLOCK, 3 * BLOCK);
	if (!mem)
		return failed();
	memset(mem, write ? strtoul(argv[4], NULL, 0) : 0, 3 * BLOCK);
	/* a page between the two */
	iov[0].iov_base = mem;
	iov[0].iov_len = cut;
	iov[1].iov_base = mem + 2 * BLOCK;
	iov[1].iov_len = BLOCK - cut;

	fd = open(argv[2], (write ? O_WRONLY : O_RDONLY) | O_DIRECT);
	if (fd < 0)
		return failed();
	n = write ? pwritev(fd, iov + !cut, 1 + !!cut, at) :
		    preadv(fd, iov + !cut, 1 + !!cut, at);
	if (n < 0)
		return failed();
	if (n != BLOCK) {
		printf("%zd bytes\n", n);
		return 1;
	}
	if (write)
		return 0;
	for (i = 0; i < BLOCK; i++)
		mixed |= mem[i < (int)cut ? i : 2 * BLOCK + i - (int)cut] != mem[2 * BLOCK];
	if (mixed)
		printf("mixed\n");
	else
		printf("%d\n", mem[2 * BLOCK]);
	return 0;
}
