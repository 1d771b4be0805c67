/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The flush of an array: the caches of all members, in parallel; the data that
 * comes with it only afterwards.
 */
#ifndef _MD_FLUSH_H
#define _MD_FLUSH_H

#include <linux/bio.h>
#include <linux/mempool.h>
#include <linux/mutex.h>

struct md_flush_cpu;
struct mddev;
struct workqueue_struct;

/**
 * struct md_flush_pool - what the flushes of an array are made from
 * @flushes: for the flushes of the array
 * @bios: for those of its members, for each of them at least one
 * @lock: who waits for @bios
 * @wq: where what may sleep is done, with a rescuer of its own
 * @cpus: the data that goes on, for each CPU
 *
 * An array may be a member of another one. If they shared this, the one could
 * wait for the other.
 */
struct md_flush_pool {
	mempool_t		flushes;
	struct bio_set		bios;
	struct mutex		lock;	/* held by who waits for bios */
	struct workqueue_struct	*wq;
	struct md_flush_cpu __percpu *cpus;
};

int md_flush_init(struct mddev *mddev);
void md_flush_exit(struct mddev *mddev);
void md_flush_drain(struct mddev *mddev);
bool __must_check md_flush_request(struct mddev *mddev, struct bio *bio);

#endif /* _MD_FLUSH_H */
