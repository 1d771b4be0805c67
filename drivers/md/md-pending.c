// SPDX-License-Identifier: GPL-2.0-only
/*
 * References to an md object that every I/O takes, counted per CPU.
 *
 * See md-pending.h for what this is. How it is used to wait for zero:
 *
 *	I/O				the one that waits
 *
 *	rcu_read_lock()			WRITE_ONCE(closed, true)	B
 * A	if (!READ_ONCE(closed))		md_pending_set_atomic()
 *		md_pending_get()	wait for md_pending_is_zero()	C
 *	rcu_read_unlock()
 *
 * A and B: a read-side critical section that does not see, at A, what was
 * stored at B before a grace period is taken to have begun before that grace
 * period, and so ends before it does; the sum over CPUs, which comes after,
 * has its reference in it. No fence is needed on the side of the I/O. There is
 * a grace period in the switch only if it starts in percpu mode: so the owner
 * keeps the object in percpu mode whenever I/O is let in without a fence, or
 * issues one.
 * tests/litmus: md-pending-close-vs-get.
 *
 * D and E, below: the confirmation of a switch is a callback that nobody's
 * lock covers; it writes the mode and reads the reason. A later change of mode
 * waits for it in percpu_ref, on a load of a pointer that is cleared after the
 * callback has returned, and writes both.
 * tests/litmus: md-pending-confirm-vs-set, md-pending-confirm-vs-why.
 *
 * F, in md_pending_is_zero(): whoever sees zero sees what was done before the
 * puts. tests/litmus: md-pending-drain-vs-put, md-pending-zero-vs-put.
 */
#include <linux/export.h>
#include <linux/ktime.h>

#include "md-pending.h"

#define CREATE_TRACE_POINTS
#include <trace/events/md.h>

static void md_pending_set_mode(struct md_pending *pending,
				enum md_pending_mode mode, u64 ns)
{
	enum md_pending_mode from = READ_ONCE(pending->mode);

	WRITE_ONCE(pending->mode, mode);
	trace_md_pending_switch(pending, from, mode, ns);
}

/* In an RCU callback; the release function may run right after. */
static void md_pending_confirm(struct percpu_ref *ref)
{
	struct md_pending *pending = container_of(ref, struct md_pending, ref);

	md_pending_set_mode(pending, MD_PENDING_ATOMIC,
			    ktime_get_ns() - pending->start);
	/*
	 * D: all of the above, the loads of the tracepoint too, before
	 * percpu_ref's note that the switch is over. Pairs with E in
	 * md_pending_set_percpu().
	 */
	smp_mb();
}

/**
 * md_pending_init - make a counter at zero, in atomic mode
 * @pending: what to initialise
 * @release: called whenever the count becomes zero in atomic mode, in the
 *	context of the put or of an RCU callback, within an RCU read-side
 *	critical section: must not sleep or take a lock that is not safe there.
 *	Called once from here, too.
 * @name: what is counted; not copied
 * @dev: the array's device number, or 0
 *
 * May sleep; allocates with GFP_KERNEL: in a scope without I/O where the
 * caller's allocations must not start any.
 *
 * Return: 0, or -ENOMEM, after which md_pending_exit() is allowed, not needed.
 */
int md_pending_init(struct md_pending *pending, percpu_ref_func_t *release,
		    const char *name, dev_t dev)
{
	int err;

	memset(pending, 0, sizeof(*pending));
	err = percpu_ref_init(&pending->ref, release, PERCPU_REF_INIT_ATOMIC,
			      GFP_KERNEL);
	if (err)
		return err;

	pending->mode = MD_PENDING_ATOMIC;
	pending->name = name;
	pending->dev = dev;
	/* The initial reference: rest at zero. */
	percpu_ref_put(&pending->ref);
	return 0;
}
EXPORT_SYMBOL_GPL(md_pending_init);

/**
 * md_pending_exit - free what md_pending_init() made
 * @pending: initialised, or zeroed memory
 *
 * The caller has made sure that no I/O can begin to use the object and, by
 * md_pending_is_zero() or otherwise, that each reference has been put; the puts
 * need not have returned.
 *
 * Sleeps for a grace period, or two if not in atomic mode: callers that have
 * many call md_pending_set_atomic_async() on all of them first. Called by the
 * owner, under its lock or when nobody else can change the mode.
 */
void md_pending_exit(struct md_pending *pending)
{
	if (!md_pending_initialized(pending))
		return;

	md_pending_set_atomic(pending, "exit");
	/*
	 * percpu_ref's callback still holds a reference when it has confirmed
	 * the switch, and puts it with bottom halves disabled; the last put of
	 * an I/O calls the release function under rcu_read_lock(). A grace
	 * period waits for both.
	 */
	synchronize_rcu();
	md_pending_free(pending);
}
EXPORT_SYMBOL_GPL(md_pending_exit);

/**
 * md_pending_free - the last step of md_pending_exit()
 * @pending: initialised, or zeroed memory
 *
 * For owners that tear down many at once, and need not wait for a grace period
 * each. The caller has done what md_pending_exit() does before: it has called
 * md_pending_set_atomic(), seen md_pending_is_zero() and then waited for a
 * grace period; or neither has the mode ever been changed nor a reference been
 * taken. Does not sleep.
 */
void md_pending_free(struct md_pending *pending)
{
	if (!md_pending_initialized(pending))
		return;

	if (WARN_ON_ONCE(!md_pending_is_zero(pending)))
		return; /* rather leak it than have it used when freed */
	percpu_ref_exit(&pending->ref);
	pending->name = NULL;
}
EXPORT_SYMBOL_GPL(md_pending_free);

/**
 * md_pending_set_percpu - count per CPU from now on
 * @pending: what is counted
 * @why: for the tracepoint; not copied
 *
 * Called by the owner, under its lock. Sleeps only if a switch to atomic is in
 * flight: until that has ended.
 */
void md_pending_set_percpu(struct md_pending *pending, const char *why)
{
	if (READ_ONCE(pending->mode) == MD_PENDING_PERCPU)
		return;

	/* E: waits for the end of a switch. Pairs with D, the confirmation. */
	percpu_ref_switch_to_percpu(&pending->ref);
	pending->why = why;
	md_pending_set_mode(pending, MD_PENDING_PERCPU, 0);
}
EXPORT_SYMBOL_GPL(md_pending_set_percpu);

/**
 * md_pending_set_atomic_async - begin to count in one place, do not wait
 * @pending: what is counted
 * @why: for the tracepoint; not copied
 *
 * Called by the owner, under its lock. Does not sleep. The count is exact
 * after a grace period; if it is zero then, the release function is called.
 */
void md_pending_set_atomic_async(struct md_pending *pending, const char *why)
{
	if (READ_ONCE(pending->mode) != MD_PENDING_PERCPU)
		return;

	pending->why = why;
	pending->start = ktime_get_ns();
	/* Before the confirmation can be called. */
	md_pending_set_mode(pending, MD_PENDING_SWITCHING, 0);
	percpu_ref_switch_to_atomic(&pending->ref, md_pending_confirm);
}
EXPORT_SYMBOL_GPL(md_pending_set_atomic_async);

/**
 * md_pending_set_atomic - count in one place, so that zero can be seen
 * @pending: what is counted
 * @why: for the tracepoint; not copied
 *
 * Called by the owner, under its lock. Sleeps for a grace period if it finds
 * percpu mode, for the rest of one if a switch is in flight, and not at all in
 * atomic mode. On return md_pending_is_zero() is exact, but may be false for
 * another moment without any I/O, until percpu_ref drops the reference of the
 * switch: to wait for zero, wait for the release function.
 *
 * In percpu mode, the grace period is between the call and the return: an RCU
 * reader that took a reference is counted on return, and one that begins later
 * sees what the caller stored before the call.
 */
void md_pending_set_atomic(struct md_pending *pending, const char *why)
{
	md_pending_set_atomic_async(pending, why);
	/* Waits for the switch that is in flight; there is nothing left to do. */
	percpu_ref_switch_to_atomic_sync(&pending->ref);
}
EXPORT_SYMBOL_GPL(md_pending_set_atomic);
