// SPDX-License-Identifier: GPL-2.0-only
/*
 * The I/O barrier of raid1 and raid10.
 *
 * See md-barrier.h for what this is. Who must not miss whom:
 *
 *	I/O, fast			resync or freeze
 *
 *	rcu_read_lock()			fast &= ~class			B
 * A	if (fast & class)		grace period			C
 *		count++			wait for count == 0
 *	rcu_read_unlock()
 *
 * This is close and get of md-pending.c: an I/O that sees its class fast is in
 * the count that is waited for. There is no fence on the side of the I/O.
 * tests/litmus: md-pending-close-vs-get.
 *
 *	I/O, fast			fast again, after a resync or freeze
 *
 * A	if (fast & class)		things that were changed
 *		uses the things		fast |= class			D
 *
 * A acquires, D releases. tests/litmus: md-barrier-fast-vs-get.
 *
 *	I/O, slow			freeze
 *
 *	pending++			frozen++
 * E	full barrier			full barrier			F
 *	if (!frozen)			if (pending == queued + extra)
 *		go			go
 *
 * One of the two sees the other. So does one of an I/O at E and of a request of
 * a resync at G: that has raised in the place of frozen, and waits for pending
 * of its bucket to be 0. tests/litmus: md-barrier-freeze-vs-get.
 *
 *	I/O that is put, slow		freeze, or G
 *
 *	uses things			if (pending == ...)		I
 * H	pending--			changes things
 *	if (frozen, or 0 and raised)	else sleep
 *		wake up
 *
 * H is a full barrier, I acquires: what was used is used no more. The freeze
 * counts before it sleeps, in a wait queue that it has joined before, and H is
 * before the look at frozen and at the queue: it is woken up, or has seen H.
 * Likewise at G. tests/litmus: md-barrier-drain-vs-put, md-barrier-wake-vs-put,
 * md-barrier-wake-vs-raise.
 *
 *	array's thread, or end of I/O	freeze
 *
 *	pending++			queued				J
 * L	queued++			sum of pending, resync		I
 * M	if (frozen) wake up		dequeued
 *	dequeued++
 * H	pending--			quiet if sum == queued - dequeued + extra
 *
 * An I/O or request that is seen as queued, at J, is in the sum, or it is gone,
 * and then seen as dequeued. One that is queued later is in the sum only. So
 * none makes up for another one that is still at work. What came in fast is
 * pending, and queued, before it is put from its fast count, and J comes after
 * those counts. M is a full barrier, as H. tests/litmus:
 * md-barrier-queue-vs-freeze, md-barrier-dequeue-vs-freeze,
 * md-barrier-lower-vs-freeze, md-barrier-wake-vs-queue.
 *
 *	write				freeze
 *
 *	puts it on a list		fast &= ~class, grace period
 * K	if (not fast) wake up		submits what is on the list, or sleeps
 *
 * Either the write is on the list in time, as with A, or the freeze is woken up,
 * as with H. tests/litmus: md-barrier-kick-vs-freeze.
 *
 * A freeze and a request of a resync see each other by the lock.
 */
#include <linux/export.h>
#include <linux/hash.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "md.h"
#include "md-barrier.h"

#define CREATE_TRACE_POINTS
#include <trace/events/md_barrier.h>

/* Stay slow that long after a freeze: read errors come in bursts. */
#define MD_BARRIER_LINGER	HZ

#define MD_BARRIER_ALL		(BIT(NR_MD_BARRIER_CLASSES) - 1)

static const char * const md_barrier_class_name[NR_MD_BARRIER_CLASSES] = {
	[MD_BARRIER_SHARED]	= "barrier-shared",
	[MD_BARRIER_EXCLUSIVE]	= "barrier-exclusive",
};

static unsigned int md_barrier_index(struct md_barrier *barrier, sector_t sector)
{
	if (!barrier->bits)
		return 0;
	return hash_long(sector >> MD_BARRIER_UNIT_BITS, barrier->bits);
}

static struct md_barrier_bucket *md_barrier_bucket(struct md_barrier *barrier,
						   sector_t sector)
{
	return &barrier->bucket[md_barrier_index(barrier, sector)];
}

/**
 * md_barrier_wake - wake up whoever waits on the barrier
 * @barrier: the array's
 *
 * For users who wait on @wait of the barrier for something of their own, after
 * that was changed. Has a full barrier, which pairs with that of
 * prepare_to_wait(). Any context; does not sleep.
 */
void md_barrier_wake(struct md_barrier *barrier)
{
	if (wq_has_sleeper(&barrier->wait))
		wake_up(&barrier->wait);
}
EXPORT_SYMBOL_GPL(md_barrier_wake);

static bool md_barrier_interrupted(struct md_barrier *barrier)
{
	return test_bit(MD_RECOVERY_INTR, &barrier->mddev->recovery);
}

/* The last one that came in fast is gone. In an RCU read-side critical section. */
static void md_barrier_release_shared(struct percpu_ref *ref)
{
	md_barrier_wake(container_of(ref, struct md_barrier,
				     count[MD_BARRIER_SHARED].ref));
}

static void md_barrier_release_exclusive(struct percpu_ref *ref)
{
	md_barrier_wake(container_of(ref, struct md_barrier,
				     count[MD_BARRIER_EXCLUSIVE].ref));
}

/* Have classes slow, until md_barrier_exit_slow(). Sleeps. */
static void md_barrier_enter_slow(struct md_barrier *barrier,
				  unsigned long classes, const char *why)
{
	int class;

	mutex_lock(&barrier->mode_lock);
	for_each_set_bit(class, &classes, NR_MD_BARRIER_CLASSES)
		barrier->slow[class]++;

	classes &= barrier->fast;
	if (classes) {
		/* B: pairs with A in md_barrier_get(). */
		WRITE_ONCE(barrier->fast, barrier->fast & ~classes);
		/* C: one grace period, for all of them. */
		for_each_set_bit(class, &classes, NR_MD_BARRIER_CLASSES)
			md_pending_set_atomic_async(&barrier->count[class], why);
		for_each_set_bit(class, &classes, NR_MD_BARRIER_CLASSES)
			md_pending_set_atomic(&barrier->count[class], why);
	}
	mutex_unlock(&barrier->mode_lock);
}

static void md_barrier_exit_slow(struct md_barrier *barrier, unsigned long classes)
{
	int class;

	mutex_lock(&barrier->mode_lock);
	for_each_set_bit(class, &classes, NR_MD_BARRIER_CLASSES)
		barrier->slow[class]--;
	if (barrier->allowed)
		mod_delayed_work(system_long_wq, &barrier->fast_work,
				 MD_BARRIER_LINGER);
	mutex_unlock(&barrier->mode_lock);
}

static void md_barrier_set_fast(struct md_barrier *barrier, const char *why)
{
	unsigned long classes = 0;
	int class;

	mutex_lock(&barrier->mode_lock);
	for_each_set_bit(class, &barrier->allowed, NR_MD_BARRIER_CLASSES) {
		if (barrier->slow[class])
			continue;
		md_pending_set_percpu(&barrier->count[class], why);
		classes |= BIT(class);
	}
	/* D: what was changed when it was slow. Pairs with A. */
	smp_store_release(&barrier->fast, classes);
	mutex_unlock(&barrier->mode_lock);
}

static void md_barrier_fast_work(struct work_struct *work)
{
	md_barrier_set_fast(container_of(work, struct md_barrier,
					 fast_work.work), "idle");
}

/**
 * md_barrier_init - make a barrier that nobody is in
 * @barrier: zeroed memory
 * @mddev: the array
 * @bits: for 1 << @bits buckets
 * @depth: requests of a resync in one bucket stay below this
 * @fast: a bit for each &enum md_barrier_class that may be fast
 * @flush_pending: submits what was left to the array's thread to submit, see
 *	md_barrier_kick(); called each time a freeze is about to sleep, since it
 *	may be that thread that waits. May sleep.
 *
 * May sleep; allocates with GFP_KERNEL.
 *
 * Return: 0, or -ENOMEM, after which md_barrier_exit() is allowed, not needed.
 */
int md_barrier_init(struct md_barrier *barrier, struct mddev *mddev,
		    unsigned int bits, int depth, unsigned long fast,
		    void (*flush_pending)(struct md_barrier *))
{
	static percpu_ref_func_t * const release[NR_MD_BARRIER_CLASSES] = {
		[MD_BARRIER_SHARED]	= md_barrier_release_shared,
		[MD_BARRIER_EXCLUSIVE]	= md_barrier_release_exclusive,
	};
	int class;

	barrier->mddev = mddev;
	barrier->bits = bits;
	barrier->depth = depth;
	barrier->allowed = fast & MD_BARRIER_ALL;
	barrier->flush_pending = flush_pending;
	init_waitqueue_head(&barrier->wait);
	spin_lock_init(&barrier->lock);
	mutex_init(&barrier->mode_lock);
	INIT_DELAYED_WORK(&barrier->fast_work, md_barrier_fast_work);

	/* A cache line of its own, if it is only one. */
	barrier->bucket = kvzalloc(max_t(size_t, SMP_CACHE_BYTES,
					 sizeof(*barrier->bucket) << bits),
				   GFP_KERNEL);
	if (!barrier->bucket)
		return -ENOMEM;
	for (class = 0; class < NR_MD_BARRIER_CLASSES; class++)
		if (md_pending_init(&barrier->count[class], release[class],
				    md_barrier_class_name[class], mddev->unit))
			goto fail;
	md_barrier_set_fast(barrier, "setup");
	return 0;

fail:
	while (class--)
		md_pending_free(&barrier->count[class]);
	kvfree(barrier->bucket);
	barrier->bucket = NULL;
	return -ENOMEM;
}
EXPORT_SYMBOL_GPL(md_barrier_init);

static int md_barrier_set_frozen(struct md_barrier *barrier)
{
	int frozen;

	spin_lock_irq(&barrier->lock);
	frozen = barrier->frozen + 1;
	WRITE_ONCE(barrier->frozen, frozen);
	spin_unlock_irq(&barrier->lock);
	/* F: pairs with E in md_barrier_get_slow(), and with H and M. */
	smp_mb();
	return frozen;
}

/*
 * Is nobody inside, but @extra that wait for this, and what is queued, if not
 * @queued_too?
 */
static bool md_barrier_quiet(struct md_barrier *barrier, int extra,
			     bool queued_too)
{
	int class, queued, sum;
	unsigned int i;

	/* First: what is queued goes from here to what is counted below. */
	for (class = 0; class < NR_MD_BARRIER_CLASSES; class++)
		if (!md_pending_is_zero(&barrier->count[class]))
			return false;

	/* J: before the sum. Pairs with L, and with who puts what came in fast. */
	queued = atomic_read_acquire(&barrier->queued);

	/* I: pairs with H, and with that in md_barrier_lower(). */
	sum = atomic_read_acquire(&barrier->resync);
	for (i = 0; i < 1U << barrier->bits; i++)
		sum += atomic_read_acquire(&barrier->bucket[i].pending);

	if (!queued_too)
		sum -= queued - atomic_read_acquire(&barrier->dequeued);
	return sum == extra;
}

/**
 * md_barrier_exit - free what md_barrier_init() made
 * @barrier: initialised, or zeroed memory
 *
 * When no I/O and no resync can begin any more. Waits for what has begun.
 *
 * Process context. Sleeps for a grace period or two.
 */
void md_barrier_exit(struct md_barrier *barrier)
{
	int class;

	if (!barrier->bucket)
		return;

	md_barrier_enter_slow(barrier, MD_BARRIER_ALL, "exit");
	cancel_delayed_work_sync(&barrier->fast_work);
	/* For good: so whoever is put wakes this up. */
	md_barrier_set_frozen(barrier);
	wait_event(barrier->wait, md_barrier_quiet(barrier, 0, true));
	/* Whoever has put the last one may not have returned: it is under RCU. */
	synchronize_rcu();
	for (class = 0; class < NR_MD_BARRIER_CLASSES; class++)
		md_pending_free(&barrier->count[class]);
	kvfree(barrier->bucket);
	barrier->bucket = NULL;
}
EXPORT_SYMBOL_GPL(md_barrier_exit);

static bool md_barrier_closed(struct md_barrier *barrier,
			      struct md_barrier_bucket *bucket,
			      enum md_barrier_class class)
{
	/* Pairs with the release in md_barrier_unfreeze(). */
	if (smp_load_acquire(&barrier->frozen))
		return true;
	return class == MD_BARRIER_EXCLUSIVE &&
	       atomic_read_acquire(&bucket->raised);
}

/* The part of md_barrier_get() for a class that is not fast. */
unsigned int md_barrier_get_slow(struct md_barrier *barrier, sector_t sector,
				 enum md_barrier_class class)
{
	unsigned int index = md_barrier_index(barrier, sector);
	struct md_barrier_bucket *bucket = &barrier->bucket[index];

	atomic_inc(&bucket->pending);
	/* E: pairs with F in md_barrier_stop() and G in md_barrier_raise(). */
	smp_mb__after_atomic();
	if (!md_barrier_closed(barrier, bucket, class))
		return index;

	spin_lock_irq(&barrier->lock);
	WRITE_ONCE(bucket->waiting, bucket->waiting + 1);
	atomic_dec(&bucket->pending);
	/* It may have been waited for. */
	md_barrier_wake(barrier);
	mddev_add_trace_msg(barrier->mddev, "md wait barrier");
	wait_event_lock_irq(barrier->wait,
			    !md_barrier_closed(barrier, bucket, class),
			    barrier->lock);
	atomic_inc(&bucket->pending);
	WRITE_ONCE(bucket->waiting, bucket->waiting - 1);
	if (!bucket->waiting)
		md_barrier_wake(barrier);
	spin_unlock_irq(&barrier->lock);
	return index;
}
EXPORT_SYMBOL_GPL(md_barrier_get_slow);

/**
 * md_barrier_get_nested - go on with an I/O that is inside
 * @barrier: the array's
 * @sector: where to go on; in the same unit, if there are several buckets
 *
 * For a retry by the array's thread, or the rest of a discard: the caller holds
 * a token of the I/O, of whatever kind, and puts that one later. Any context;
 * does not sleep.
 *
 * Return: the token, to be handed to md_barrier_put().
 */
unsigned int md_barrier_get_nested(struct md_barrier *barrier, sector_t sector)
{
	unsigned int index = md_barrier_index(barrier, sector);

	atomic_inc(&barrier->bucket[index].pending);
	return index;
}
EXPORT_SYMBOL_GPL(md_barrier_get_nested);

/* The part of md_barrier_put() for who has not come in fast. */
void md_barrier_put_slow(struct md_barrier *barrier, unsigned int token)
{
	struct md_barrier_bucket *bucket = &barrier->bucket[token];

	/* Until md_barrier_exit() can free it. */
	rcu_read_lock();
	/*
	 * H: a full barrier. Pairs with I, with F and G, and with joining the
	 * wait queue before looking.
	 */
	if ((atomic_dec_and_test(&bucket->pending) &&
	     atomic_read(&bucket->raised)) || READ_ONCE(barrier->frozen))
		md_barrier_wake(barrier);
	rcu_read_unlock();
}
EXPORT_SYMBOL_GPL(md_barrier_put_slow);

/**
 * md_barrier_queue - leave an I/O, or a request of a resync, to the array's thread
 * @barrier: the array's
 * @token: of the I/O, may change; NULL for a request
 * @sector: of the I/O, as for md_barrier_get()
 *
 * From here to md_barrier_dequeue() a freeze does not wait for it. Under the
 * lock that keeps the thread from taking it up already. Any context.
 */
void md_barrier_queue(struct md_barrier *barrier, unsigned int *token,
		      sector_t sector)
{
	unsigned int fast = 0;

	if (token && *token >= MD_BARRIER_FAST) {
		fast = *token;
		*token = md_barrier_get_nested(barrier, sector);
	}
	/*
	 * L: pending, or in flight, before it is queued. Pairs with J. What was
	 * done so far is seen by who sees it queued.
	 */
	smp_mb__before_atomic();
	atomic_inc(&barrier->queued);
	/* M: pairs with F, as H. */
	smp_mb__after_atomic();
	if (READ_ONCE(barrier->frozen))
		md_barrier_wake(barrier);
	if (fast)
		md_barrier_put(barrier, fast);
}
EXPORT_SYMBOL_GPL(md_barrier_queue);

/**
 * md_barrier_kick - something was left to the array's thread to submit
 * @barrier: the array's
 *
 * That thread may be in a freeze, waiting for it. Called after it was put where
 * @flush_pending of md_barrier_init() takes it from, under the lock of that: it
 * keeps the array from going away. Any context.
 */
void md_barrier_kick(struct md_barrier *barrier)
{
	/* K: if it is seen fast, the grace period of a freeze is yet to come. */
	rcu_read_lock();
	if (!(READ_ONCE(barrier->fast) & BIT(MD_BARRIER_EXCLUSIVE)))
		md_barrier_wake(barrier);
	rcu_read_unlock();
}
EXPORT_SYMBOL_GPL(md_barrier_kick);

/**
 * md_barrier_resync_begin - a resync begins, or a reshape, recovery or check
 * @barrier: the array's
 *
 * Once, before the first md_barrier_raise(). Sync thread only; sleeps for a
 * grace period, and until the I/O has ended that came in before.
 *
 * Return: 0, or -EINTR if MD_RECOVERY_INTR was set: who stops the resync wakes up
 * the sync thread itself, not those who wait here.
 */
int md_barrier_resync_begin(struct md_barrier *barrier)
{
	struct md_pending *count = &barrier->count[MD_BARRIER_EXCLUSIVE];

	md_barrier_enter_slow(barrier, BIT(MD_BARRIER_EXCLUSIVE), "resync");
	wait_event(barrier->wait,
		   md_pending_is_zero(count) || md_barrier_interrupted(barrier));
	if (md_pending_is_zero(count))
		return 0;
	md_barrier_exit_slow(barrier, BIT(MD_BARRIER_EXCLUSIVE));
	return -EINTR;
}
EXPORT_SYMBOL_GPL(md_barrier_resync_begin);

/**
 * md_barrier_resync_end - a resync has sent its last request
 * @barrier: the array's
 *
 * After md_barrier_resync_begin() has returned 0. Sync thread only; sleeps until
 * all requests have ended.
 */
void md_barrier_resync_end(struct md_barrier *barrier)
{
	wait_event(barrier->wait, !atomic_read_acquire(&barrier->resync));
	/* Those who wait for a reshape look at how far it is. */
	md_barrier_wake(barrier);
	md_barrier_exit_slow(barrier, BIT(MD_BARRIER_EXCLUSIVE));
}
EXPORT_SYMBOL_GPL(md_barrier_resync_end);

/**
 * md_barrier_raise - a request of a resync begins
 * @barrier: the array's
 * @sector: where
 *
 * Between md_barrier_resync_begin() and md_barrier_resync_end(). The caller must
 * have sent the requests that it has raised before: or it uses
 * md_barrier_raise_more(). Sync thread only. Lets in first what waits for the
 * bucket; then sleeps until what came in has ended, all of class
 * %MD_BARRIER_EXCLUSIVE, and of the other one what came in while that was slow.
 *
 * Return: 0, or -EINTR if MD_RECOVERY_INTR was set.
 */
int md_barrier_raise(struct md_barrier *barrier, sector_t sector)
{
	struct md_barrier_bucket *bucket = md_barrier_bucket(barrier, sector);
	int err = 0;

	WARN_ON_ONCE(READ_ONCE(barrier->fast) & BIT(MD_BARRIER_EXCLUSIVE));

	spin_lock_irq(&barrier->lock);
	wait_event_lock_irq(barrier->wait, !bucket->waiting ||
			    md_barrier_interrupted(barrier), barrier->lock);

	atomic_inc(&bucket->raised);
	/* G: pairs with E in md_barrier_get_slow(). */
	smp_mb__after_atomic();
	wait_event_lock_irq(barrier->wait,
			    (!barrier->frozen &&
			     !atomic_read_acquire(&bucket->pending) &&
			     atomic_read(&bucket->raised) < barrier->depth) ||
			    md_barrier_interrupted(barrier), barrier->lock);

	if (md_barrier_interrupted(barrier)) {
		atomic_dec(&bucket->raised);
		md_barrier_wake(barrier);
		err = -EINTR;
	} else {
		atomic_inc(&barrier->resync);
	}
	spin_unlock_irq(&barrier->lock);
	return err;
}
EXPORT_SYMBOL_GPL(md_barrier_raise);

/**
 * md_barrier_raise_more - another request, that is sent with one
 * @barrier: the array's
 * @sector: in the same bucket
 *
 * The caller has a request in flight there, that md_barrier_raise() let in: so
 * there is no I/O in the bucket, and whoever freezes the array waits. Does not
 * sleep.
 */
void md_barrier_raise_more(struct md_barrier *barrier, sector_t sector)
{
	struct md_barrier_bucket *bucket = md_barrier_bucket(barrier, sector);

	WARN_ON_ONCE(!atomic_read(&bucket->raised));
	atomic_inc(&bucket->raised);
	atomic_inc(&barrier->resync);
}
EXPORT_SYMBOL_GPL(md_barrier_raise_more);

/**
 * md_barrier_lower - a request of a resync has ended
 * @barrier: the array's
 * @sector: as for md_barrier_raise()
 *
 * Any context, any CPU. Does not sleep.
 */
void md_barrier_lower(struct md_barrier *barrier, sector_t sector)
{
	struct md_barrier_bucket *bucket = md_barrier_bucket(barrier, sector);
	int raised;

	rcu_read_lock();
	/* H: likewise, and before the I/O that it lets in, at E. */
	raised = atomic_dec_return(&bucket->raised);
	WARN_ON_ONCE(raised < 0);
	/*
	 * Whom this lets go on: the end of the resync, I/O, the next request,
	 * or a freeze. Not each time: the resync itself often waits.
	 */
	if (atomic_dec_and_test(&barrier->resync) || !raised ||
	    raised == barrier->depth - 1 || READ_ONCE(barrier->frozen))
		md_barrier_wake(barrier);
	rcu_read_unlock();
}
EXPORT_SYMBOL_GPL(md_barrier_lower);

/**
 * md_barrier_has_waiters - is there I/O that wants to come in
 * @barrier: the array's
 * @sector: where
 *
 * A hint, for a resync to give way. Any context.
 *
 * Return: true if there is, in the bucket of @sector.
 */
bool md_barrier_has_waiters(struct md_barrier *barrier, sector_t sector)
{
	return READ_ONCE(md_barrier_bucket(barrier, sector)->waiting);
}
EXPORT_SYMBOL_GPL(md_barrier_has_waiters);

static void md_barrier_stop(struct md_barrier *barrier, int extra,
			    bool queued_too)
{
	u64 start = ktime_get_ns();
	int frozen;

	mddev_add_trace_msg(barrier->mddev, "md wait freeze");
	/* Before the rest: I/O need not wait for the grace period. */
	md_barrier_enter_slow(barrier, MD_BARRIER_ALL, "freeze");
	frozen = md_barrier_set_frozen(barrier);
	wait_event_cmd(barrier->wait,
		       md_barrier_quiet(barrier, extra, queued_too),
		       barrier->flush_pending(barrier), do { } while (0));
	trace_md_barrier_freeze(barrier->mddev, extra, frozen,
				ktime_get_ns() - start);
}

/**
 * md_barrier_freeze - keep all I/O and resync out
 * @barrier: the array's
 * @extra: how many tokens the caller holds: 0, or 1 for the array's thread when
 *	it handles an I/O that was queued
 *
 * Waits for all that is inside to end or to be queued. Until
 * md_barrier_unfreeze(); any number of callers may have the array frozen at a
 * time. What the array's thread does with I/O that was queued is not kept out.
 * Process context; sleeps, also for a grace period, unless the array was frozen
 * a moment ago.
 */
void md_barrier_freeze(struct md_barrier *barrier, int extra)
{
	md_barrier_stop(barrier, extra, false);
}
EXPORT_SYMBOL_GPL(md_barrier_freeze);

/**
 * md_barrier_drain - keep all I/O and resync out, also what was queued
 * @barrier: the array's
 *
 * As md_barrier_freeze() with nothing extra, but waits for what is queued to
 * end: the array's thread must be able to do that.
 */
void md_barrier_drain(struct md_barrier *barrier)
{
	md_barrier_stop(barrier, 0, true);
}
EXPORT_SYMBOL_GPL(md_barrier_drain);

/**
 * md_barrier_unfreeze - end what md_barrier_freeze() or md_barrier_drain() began
 * @barrier: the array's
 *
 * Process context; may sleep.
 */
void md_barrier_unfreeze(struct md_barrier *barrier)
{
	int frozen;

	spin_lock_irq(&barrier->lock);
	frozen = barrier->frozen - 1;
	/* What was changed is seen by the I/O that this lets in. Pairs with E. */
	smp_store_release(&barrier->frozen, frozen);
	spin_unlock_irq(&barrier->lock);
	wake_up(&barrier->wait);
	trace_md_barrier_unfreeze(barrier->mddev, frozen);
	md_barrier_exit_slow(barrier, MD_BARRIER_ALL);
}
EXPORT_SYMBOL_GPL(md_barrier_unfreeze);
