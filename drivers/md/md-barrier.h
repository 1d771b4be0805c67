/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The I/O barrier of raid1 and raid10.
 *
 * Two kinds of work want normal I/O out of the way. A resync excludes I/O from
 * the part of the array that it is working on, one request after the other, for
 * as long as it runs: it raises the barrier of a bucket, and lowers it when the
 * request has ended. And the array is frozen, all of it, while a read error is
 * corrected or something is reconfigured.
 *
 * Most of the time there is neither. Then a class of I/O is fast: it is counted
 * in an md_pending, per CPU, and looks at one word that nobody writes. A class
 * becomes slow when a resync or a freeze begins, which takes a grace period,
 * and fast again some time after the last of them has ended. While it is slow,
 * an I/O is counted in its bucket, and waits there if the barrier is raised or
 * the array frozen. A request of a resync costs no grace period.
 *
 * An I/O holds a token that says how it came in: it leaves in the same way,
 * whatever the mode is by then, on any CPU.
 *
 * An I/O that is left to the array's thread is queued. A freeze does not wait
 * for that, since it may be the array's thread that freezes. That thread goes on
 * with the I/O by a nested one, which never waits: what it would wait for may be
 * waiting for the I/O itself.
 *
 * Freezes are counted, and may overlap.
 */
#ifndef _MD_BARRIER_H
#define _MD_BARRIER_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "md-pending.h"

struct mddev;

/* An I/O is within one unit; one bucket is for all units of the same hash. */
#define MD_BARRIER_UNIT_BITS	17
#define MD_BARRIER_UNIT_SECTORS	BIT(MD_BARRIER_UNIT_BITS)

/**
 * enum md_barrier_class - which I/O
 * @MD_BARRIER_SHARED: goes on during a resync, stays out of a freeze
 * @MD_BARRIER_EXCLUSIVE: stays out of both
 * @NR_MD_BARRIER_CLASSES: how many there are
 */
enum md_barrier_class {
	MD_BARRIER_SHARED,
	MD_BARRIER_EXCLUSIVE,
	NR_MD_BARRIER_CLASSES,
};

/* The token of an I/O is its bucket, or, if it came in fast, this and its class. */
#define MD_BARRIER_FAST		BIT(31)

struct md_barrier_bucket {
	atomic_t	pending;	/* I/Os that came in slow */
	atomic_t	raised;		/* requests of a resync */
	int		waiting;	/* I/Os that want to come in */
};

/**
 * struct md_barrier - an I/O barrier
 * @fast: a bit for each class that is fast
 * @frozen: how many want the array frozen, or have it so
 * @bits: how many buckets there are, as a power of two
 * @depth: requests of a resync in one bucket stay below this
 * @allowed: a bit for each class that may be fast
 * @bucket: what is counted by bucket
 * @mddev: the array
 * @flush_pending: submits what was left to the array's thread to submit
 * @count: I/Os of a class that came in fast
 * @wait: everybody waits here. Users may do so for something of their own, and
 *	call md_barrier_wake() when that has changed
 * @lock: for @frozen, @bucket->waiting, and to raise
 * @resync: requests of a resync in flight
 * @queued: how many were ever left to the array's thread, I/Os and requests
 * @dequeued: how many of them it has taken up
 * @mode_lock: for @slow, and to change @fast
 * @slow: for each class, how many want it to be slow
 * @fast_work: makes classes fast again
 */
struct md_barrier {
	unsigned long			fast;
	int				frozen;
	unsigned int			bits;
	int				depth;
	unsigned long			allowed;
	struct md_barrier_bucket	*bucket;
	struct mddev			*mddev;
	void (*flush_pending)(struct md_barrier *barrier);
	struct md_pending		count[NR_MD_BARRIER_CLASSES];

	wait_queue_head_t		wait ____cacheline_aligned_in_smp;
	spinlock_t			lock;		/* frozen, waiting */
	atomic_t			resync;
	atomic_t			queued;
	atomic_t			dequeued;

	struct mutex			mode_lock;	/* slow, fast */
	int				slow[NR_MD_BARRIER_CLASSES];
	struct delayed_work		fast_work;
};

int __must_check md_barrier_init(struct md_barrier *barrier,
				 struct mddev *mddev, unsigned int bits,
				 int depth, unsigned long fast,
				 void (*flush_pending)(struct md_barrier *));
void md_barrier_exit(struct md_barrier *barrier);
void md_barrier_wake(struct md_barrier *barrier);

unsigned int md_barrier_get_slow(struct md_barrier *barrier, sector_t sector,
				 enum md_barrier_class class);
unsigned int md_barrier_get_nested(struct md_barrier *barrier, sector_t sector);
void md_barrier_put_slow(struct md_barrier *barrier, unsigned int token);

void md_barrier_queue(struct md_barrier *barrier, unsigned int *token,
		      sector_t sector);
void md_barrier_kick(struct md_barrier *barrier);

int __must_check md_barrier_resync_begin(struct md_barrier *barrier);
void md_barrier_resync_end(struct md_barrier *barrier);
int __must_check md_barrier_raise(struct md_barrier *barrier, sector_t sector);
void md_barrier_raise_more(struct md_barrier *barrier, sector_t sector);
void md_barrier_lower(struct md_barrier *barrier, sector_t sector);
bool md_barrier_has_waiters(struct md_barrier *barrier, sector_t sector);

void md_barrier_freeze(struct md_barrier *barrier, int extra);
void md_barrier_drain(struct md_barrier *barrier);
void md_barrier_unfreeze(struct md_barrier *barrier);

/**
 * md_barrier_get - an I/O begins
 * @barrier: the array's
 * @sector: where the I/O begins
 * @class: what it stays out of
 *
 * Process context. Sleeps while the array is frozen, or, if @class stays out of
 * a resync, while that is working on the bucket of @sector. The caller must hold
 * no token, and nothing that the array's thread or a freeze may wait for.
 *
 * Return: the token, to be handed to md_barrier_put().
 */
static inline unsigned int md_barrier_get(struct md_barrier *barrier,
					  sector_t sector,
					  enum md_barrier_class class)
{
	rcu_read_lock();
	/*
	 * A: what is looked at and the count are in one RCU read-side critical
	 * section. Pairs with B and C in md_barrier_enter_slow(), and the
	 * acquire with D in md_barrier_set_fast(): see the top of md-barrier.c.
	 */
	if (likely(smp_load_acquire(&barrier->fast) & BIT(class))) {
		md_pending_get(&barrier->count[class]);
		rcu_read_unlock();
		return MD_BARRIER_FAST + class;
	}
	rcu_read_unlock();
	return md_barrier_get_slow(barrier, sector, class);
}

/**
 * md_barrier_put - an I/O has ended
 * @barrier: the array's
 * @token: from md_barrier_get() or md_barrier_get_nested()
 *
 * Any context, any CPU. Does not sleep. What was done before is seen by whoever
 * has waited for the I/O. @barrier may be gone on return.
 */
static inline void md_barrier_put(struct md_barrier *barrier, unsigned int token)
{
	if (likely(token >= MD_BARRIER_FAST))
		md_pending_put(&barrier->count[token - MD_BARRIER_FAST]);
	else
		md_barrier_put_slow(barrier, token);
}

/**
 * md_barrier_dequeue - the array's thread takes up what was queued
 * @barrier: the array's
 *
 * After md_barrier_queue(), and before the I/O or request goes on. Any context.
 */
static inline void md_barrier_dequeue(struct md_barrier *barrier)
{
	atomic_inc(&barrier->dequeued);
}

#endif
