// SPDX-License-Identifier: GPL-2.0-only
/*
 * Is the last commit of an ext4 journal all there?
 *
 *	commits JOURNAL
 *
 * JOURNAL is a copy of inode 8. A transaction is written as a descriptor block,
 * the blocks that it describes, and a commit block. The commit block goes out
 * when the others have been acknowledged, and promises by REQ_PREFLUSH that they
 * are durable before it is. So the newest commit block that is found must have
 * a descriptor, or a revoke block, of the same transaction before it.
 *
 * Prints "commit N", and whether the rest "is" or "is not" there. Exit status: 0
 * if it is, or there was no commit yet; 1 if it is not.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC	0xC03B3998u

enum { DESCRIPTOR = 1, COMMIT = 2, REVOKE = 5 };

static const char *journal;
static uint32_t blocksize;

static uint32_t word(uint32_t block, int i)
{
	return ntohl(((const uint32_t *)(journal + (size_t)block * blocksize))[i]);
}

int main(int argc, char **argv)
{
	uint32_t blocks, b, last = 0, newest = 0, found = 0;
	struct stat st;
	int fd;

	if (argc != 2 || (fd = open(argv[1], O_RDONLY)) < 0 || fstat(fd, &st) ||
	    st.st_size < 4096)
		return 2;
	journal = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (journal == MAP_FAILED)
		return 2;
	blocksize = 1024;
	if (word(0, 0) != MAGIC)
		return 2;
	blocksize = word(0, 3);
	blocks = st.st_size / blocksize;

	for (b = 1; b < blocks; b++)
		if (word(b, 0) == MAGIC && word(b, 1) == COMMIT && word(b, 2) >= newest) {
			newest = word(b, 2);
			last = b;
		}
	for (b = 1; b < blocks && last; b++)
		if (word(b, 0) == MAGIC && word(b, 2) == newest &&
		    (word(b, 1) == DESCRIPTOR || word(b, 1) == REVOKE))
			found = 1;
	printf("commit %u: the rest is %sthere\n", newest, last && !found ? "not " : "");
	return last && !found;
}
