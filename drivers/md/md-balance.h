/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Choice of the mirror to read from, without a count that CPUs share.
 *
 * For arrays without a rotational member. Each CPU chooses by what it has seen
 * itself: how many of its reads a member has in flight, and how long they take
 * there. It takes the member where one more read would end first. Members
 * that differ by less than a half are equal: then the one with fewer reads in
 * flight is taken, and of these the one that was passed over most often.
 *
 * Why the time: with one read in flight, there are none on any member when the
 * next one is chosen, so that a slower member would get as many. A member that
 * is not chosen for its time is tried again once in a while, so that this costs
 * less than 2 %.
 *
 * Nothing here needs a lock, or is exact: a stale value makes a worse choice.
 * Two things are exact. Every read that was started is ended, on whatever CPU,
 * in the counters of the CPU that started it; and they are not freed before.
 *
 * Arrays with a rotational member choose by head position, and need to know
 * whether anybody reads: they count reads in flight in one place.
 */
#ifndef _MD_BALANCE_H
#define _MD_BALANCE_H

#include <linux/atomic.h>
#include <linux/percpu.h>
#include <linux/types.h>

struct md_rdev;

/**
 * struct md_balance_cpu - what one CPU has read from one member
 * @started: reads started here
 * @done: of them, those that ended here
 * @moved: of them, those that ended on other CPUs
 * @offered: how often the member was considered
 * @chosen: what @offered was when it was last chosen
 * @timed: how many reads are in @average, up to a limit
 * @average: smoothed time that a read takes, in ns, or 0
 * @seq_start: where on the member the last run of sequential reads began
 * @seq_next: where it goes on
 */
struct md_balance_cpu {
	unsigned int	started;
	unsigned int	done;
	atomic_t	moved;
	unsigned int	offered;
	unsigned int	chosen;
	unsigned int	timed;
	unsigned int	average;
	sector_t	seq_start;
	sector_t	seq_next;
};

/**
 * struct md_balance - reads of one member
 * @cpu: per CPU, or NULL if the member was never in a mirror
 * @shared: reads in flight that were started with @shared
 */
struct md_balance {
	struct md_balance_cpu __percpu *cpu;
	atomic_t	shared;
};

/**
 * struct md_balance_read - a read between its start and its end
 * @start: when it started, ns of ktime_get(), or 0 if it is not timed
 * @cpu: where it started, or -1 if it is counted in one place
 */
struct md_balance_read {
	u64	start;
	int	cpu;
};

/**
 * struct md_balance_pick - the best of the members offered so far
 * @index: what the caller calls it, or -1 if none has been offered
 * @inflight: reads of this CPU that it has in flight
 * @average: how long one takes
 * @age: how often it has been passed over
 */
struct md_balance_pick {
	int		index;
	unsigned int	inflight;
	unsigned int	average;
	unsigned int	age;
};

int __must_check md_balance_init(struct md_balance *balance);
void md_balance_exit(struct md_balance *balance);
bool md_balance_offer(struct md_balance_pick *pick, struct md_rdev *rdev,
		      int index, unsigned int more);
void md_balance_start(struct md_rdev *rdev, struct md_balance_read *read,
		      bool shared, sector_t sector, unsigned int sectors);
void md_balance_end(struct md_rdev *rdev, struct md_balance_read *read);

/**
 * md_balance_run - how long is the run of sequential reads that a read goes on
 * @balance: the member, after md_balance_init()
 * @sector: where the read is on the member
 *
 * Any context. Where preemption is enabled, the CPU may be another one than that
 * of the next call: that makes a worse choice, no more.
 *
 * Return: in sectors, what this CPU has read just before @sector, or 0.
 */
static inline sector_t md_balance_run(struct md_balance *balance, sector_t sector)
{
	struct md_balance_cpu *c = raw_cpu_ptr(balance->cpu);

	if (READ_ONCE(c->seq_next) != sector)
		return 0;
	return sector - READ_ONCE(c->seq_start);
}

/**
 * md_balance_shared - how many reads does a member have in flight
 * @balance: the member
 *
 * For arrays with a rotational member. Any context.
 *
 * Return: how many there are, of those that were started with @shared.
 */
static inline unsigned int md_balance_shared(struct md_balance *balance)
{
	return atomic_read(&balance->shared);
}

#endif
