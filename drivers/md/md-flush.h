/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The flush of an array: the caches of all members, in parallel; the data that
 * comes with it only afterwards.
 */
#ifndef _MD_FLUSH_H
#define _MD_FLUSH_H

#include <linux/bio.h>
#include <linux/mempool.h>

struct mddev;
struct workqueue_struct;

/**
 * struct md_flush_pool - what the flushes of an array are made from
 * @wq: where what may sleep is done, with a rescuer of its own
 * @flushes: for the flushes of the array
 * @bios: for those of its members
 *
 * None is shared with another array, which may be a member of this one, or
 * have it as a member: then either could wait for the other.
 */
struct md_flush_pool {
	struct workqueue_struct	*wq;
	mempool_t		flushes;
	struct bio_set		bios;
};

int md_flush_init(struct mddev *mddev);
void md_flush_exit(struct mddev *mddev);
void md_flush_drain(struct mddev *mddev);
bool __must_check md_flush_request(struct mddev *mddev, struct bio *bio);

#endif /* _MD_FLUSH_H */
