/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * References to an md object that every I/O takes, counted per CPU.
 *
 * An md_pending counts the I/Os that use an object. It is a percpu_ref with
 * three things that md needs around it: it rests at zero, as
 * mddev->writes_pending does, so that somebody can wait for zero and then go
 * on using it; its mode can be seen, by a tracepoint and by
 * md_pending_mode(); and it is torn down only when nobody can be inside it.
 *
 * Why not a percpu_rwsem or SRCU: the reference is put by an I/O completion,
 * in another context and on another CPU than the get. Why not rwsem-like
 * waiting inside: who waits, and under which locks, differs from object to
 * object, so waiting is left to the owner; see md_pending_set_atomic().
 *
 * An object is in one of these modes:
 *
 * %MD_PENDING_PERCPU	gets and puts write only memory of their own CPU; the
 *			sum is not known
 * %MD_PENDING_SWITCHING on the way to atomic: gets and puts already use the
 *			shared counter, the sum is known after a grace period
 * %MD_PENDING_ATOMIC	gets and puts use the shared counter; zero is exact
 *
 * The owner calls md_pending_set_percpu() and md_pending_set_atomic() one at a
 * time, under a lock of its own that may be held across a sleep. Gets and puts
 * need no lock and may run in any mode, also while it changes.
 */
#ifndef _MD_PENDING_H
#define _MD_PENDING_H

#include <linux/percpu-refcount.h>
#include <linux/types.h>

/**
 * enum md_pending_mode - how an md_pending counts
 * @MD_PENDING_ATOMIC: in one shared counter; zero is exact
 * @MD_PENDING_SWITCHING: from per-CPU to atomic; not zero until that is done
 * @MD_PENDING_PERCPU: in per-CPU counters; not zero, whatever the sum is
 */
enum md_pending_mode {
	MD_PENDING_ATOMIC,
	MD_PENDING_SWITCHING,
	MD_PENDING_PERCPU,
};

/**
 * struct md_pending - I/Os that use an object
 * @ref: the count
 * @mode: written by the owner, and once per switch by its confirmation
 * @dev: the array, for the tracepoint
 * @name: what is counted, for the tracepoint; set as long as @ref is
 * @why: the reason of the last change of mode, for the tracepoint
 * @start: when the last switch to atomic began, ns of ktime_get()
 */
struct md_pending {
	struct percpu_ref	ref;
	enum md_pending_mode	mode;
	dev_t			dev;
	const char		*name;
	const char		*why;
	u64			start;
};

int __must_check md_pending_init(struct md_pending *pending,
				 percpu_ref_func_t *release,
				 const char *name, dev_t dev);
void md_pending_exit(struct md_pending *pending);
void md_pending_free(struct md_pending *pending);
void md_pending_set_percpu(struct md_pending *pending, const char *why);
void md_pending_set_atomic_async(struct md_pending *pending, const char *why);
void md_pending_set_atomic(struct md_pending *pending, const char *why);

/**
 * md_pending_initialized - is there something to be torn down
 * @pending: initialised, or zeroed memory
 *
 * For the owner's error paths.
 *
 * Return: true between md_pending_init() and md_pending_exit().
 */
static inline bool md_pending_initialized(const struct md_pending *pending)
{
	return pending->name;
}

/**
 * md_pending_set_name - say what is counted once that is known
 * @pending: in atomic mode since md_pending_init()
 * @name: what is counted, for the tracepoint; not copied
 * @dev: the array's device number
 */
static inline void md_pending_set_name(struct md_pending *pending,
				       const char *name, dev_t dev)
{
	pending->name = name;
	pending->dev = dev;
}

/**
 * md_pending_get - an I/O begins to use the object
 * @pending: what to count
 *
 * Any context. Does not sleep or fail. Orders nothing: who wants the object
 * not to go away, or not to be drained, between looking at it and this call
 * does both in one RCU read-side critical section.
 */
static inline void md_pending_get(struct md_pending *pending)
{
	percpu_ref_get(&pending->ref);
}

/**
 * md_pending_put - an I/O has ended using the object
 * @pending: what was counted by md_pending_get()
 *
 * Any context, any CPU. Does not sleep, but calls the release function if this
 * was the last reference in atomic mode. What the caller did before is seen by
 * whoever sees md_pending_is_zero() afterwards. @pending may be gone on return,
 * unless something else holds it.
 */
static inline void md_pending_put(struct md_pending *pending)
{
	percpu_ref_put(&pending->ref);
}

/**
 * md_pending_is_zero - is it certain that no I/O uses the object
 * @pending: what is counted
 *
 * Any context. Says nothing about I/O that may begin afterwards: to exclude
 * that is up to the caller.
 *
 * Return: true if the mode is atomic and the count is zero, else false.
 */
static inline bool md_pending_is_zero(struct md_pending *pending)
{
	if (!percpu_ref_is_zero(&pending->ref))
		return false;
	/*
	 * F: what was done before the puts is seen after this. Pairs with the
	 * full barrier of percpu_ref_put(), be it the last one of an I/O or,
	 * after the sum over CPUs, that of the switch.
	 */
	smp_acquire__after_ctrl_dep();
	return true;
}

/**
 * md_pending_mode - how an md_pending counts just now
 * @pending: what is counted
 *
 * Any context; exact under the owner's lock, but for the end of a switch.
 *
 * Return: the mode.
 */
static inline enum md_pending_mode md_pending_mode(struct md_pending *pending)
{
	return READ_ONCE(pending->mode);
}

#endif
