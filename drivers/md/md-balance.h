/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Choice of the mirror to read from, without a count that CPUs share.
 *
 * For arrays without a rotational member. Each CPU chooses by what it has seen
 * itself: how many of its reads a member has in flight, and how long they take
 * there. Members take turns. One is taken while it is its turn, and it is idle
 * and not slow; otherwise the one where one more read would end first. Members
 * that differ by less than a half are equal: then the one with fewer reads in
 * flight is taken.
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
 * struct md_balance_set - what one CPU has read from one array
 * @reads: for how many it has chosen
 * @disk: where the last read went
 * @seq_start: where the run of sequential reads began that it is part of
 * @seq_next: where that goes on
 */
struct md_balance_set {
	unsigned int	reads;
	int		disk;
	sector_t	seq_start;
	sector_t	seq_next;
};

/**
 * struct md_balance_cpu - what one CPU has read from one member
 * @started: reads started here
 * @done: of them, those that ended here
 * @moved: of them, those that ended on other CPUs
 * @average: smoothed time that a read takes, in ns, or 0
 * @slow: half as long again as another member, when they were last compared
 * @timed: how many reads are in @average, up to a limit
 * @passed: how often it was compared since it was last chosen
 */
struct md_balance_cpu {
	unsigned int	started;
	unsigned int	done;
	atomic_t	moved;
	unsigned int	average;
	unsigned int	slow;
	unsigned int	timed;
	unsigned int	passed;
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
 * @cpu: what this CPU has read from it
 * @inflight: reads in flight
 * @average: how long one takes
 * @turn: the member whose turn it is
 * @later: if it cannot be taken, prefer the later one of two that are equal
 * @compare: compare it with the others in any case
 */
struct md_balance_pick {
	int			index;
	struct md_balance_cpu	*cpu;
	unsigned int		inflight;
	unsigned int		average;
	int			turn;
	bool			later;
	bool			compare;
};

int __must_check md_balance_init(struct md_balance *balance);
void md_balance_exit(struct md_balance *balance);
struct md_balance_set __percpu *md_balance_alloc_set(void);
bool md_balance_offer(struct md_balance_pick *pick, struct md_rdev *rdev,
		      int index);
void md_balance_start(struct md_rdev *rdev, struct md_balance_read *read,
		      bool shared);
void md_balance_end(struct md_rdev *rdev, struct md_balance_read *read);

/* A turn is so many reads: what a member's disk uses stays in the cache. */
#define MD_BALANCE_RUN		4
/* Compare the members once in so many reads also if that is not needed. */
#define MD_BALANCE_COMPARE	8

/**
 * md_balance_begin - begin to choose a member for a read
 * @pick: to be handed to md_balance_take() and md_balance_offer()
 * @set: of the array
 * @members: how many there are; they are called 0 to @members - 1
 * @synchronous: all of them are, see bdev_synchronous()
 *
 * Any context. Here and below, where preemption is enabled, the CPU may be another
 * one at the next call: that makes a worse choice, no more.
 */
static inline void md_balance_begin(struct md_balance_pick *pick,
				    struct md_balance_set __percpu *set,
				    unsigned int members, bool synchronous)
{
	unsigned int reads = this_cpu_inc_return(set->reads);
	/* CPUs that do the same at the same time begin with different ones. */
	unsigned int turn = raw_smp_processor_id();

	/*
	 * If a read ends within the call that submits it, as that of a RAM disk,
	 * there is never another one in flight that the CPU could have sent
	 * elsewhere: turns would only cost it cache misses.
	 */
	if (!synchronous)
		turn += reads / MD_BALANCE_RUN;
	pick->index = -1;
	pick->turn = turn % members;
	pick->later = (turn / members) & 1;
	pick->compare = reads % MD_BALANCE_COMPARE == 0;
}

/* Reads that this CPU has in flight on a member. */
static inline unsigned int md_balance_inflight(struct md_balance_cpu *c)
{
	return READ_ONCE(c->started) - READ_ONCE(c->done) -
	       atomic_read(&c->moved);
}

/**
 * md_balance_take - can a member be taken without a look at the others
 * @pick: after md_balance_begin()
 * @balance: the member, after md_balance_init()
 * @index: what the caller calls it
 *
 * Any context.
 *
 * Return: true if it is its turn, it is idle as far as this CPU knows, and it
 * is not slow.
 */
static inline bool md_balance_take(struct md_balance_pick *pick,
				   struct md_balance *balance, int index)
{
	struct md_balance_cpu *c;

	if (index != pick->turn || pick->compare)
		return false;
	c = raw_cpu_ptr(balance->cpu);
	return !md_balance_inflight(c) && !READ_ONCE(c->slow);
}

/**
 * md_balance_run - how long is the run of sequential reads that a read goes on
 * @set: of the array
 * @sector: where the read is
 * @disk: where this CPU's last read went, set if the return value is not 0
 *
 * Any context.
 *
 * Return: in sectors, what this CPU has read just before @sector, or 0.
 */
static inline sector_t md_balance_run(struct md_balance_set __percpu *set,
				      sector_t sector, int *disk)
{
	struct md_balance_set *s = raw_cpu_ptr(set);

	if (READ_ONCE(s->seq_next) != sector)
		return 0;
	*disk = READ_ONCE(s->disk);
	return sector - READ_ONCE(s->seq_start);
}

/**
 * md_balance_note - remember a read, for md_balance_run()
 * @set: of the array
 * @sector: where it is
 * @sectors: how much
 * @disk: where it goes
 *
 * Any context.
 */
static inline void md_balance_note(struct md_balance_set __percpu *set,
				   sector_t sector, unsigned int sectors,
				   int disk)
{
	struct md_balance_set *s = raw_cpu_ptr(set);

	if (READ_ONCE(s->seq_next) != sector || READ_ONCE(s->disk) != disk)
		WRITE_ONCE(s->seq_start, sector);
	WRITE_ONCE(s->disk, disk);
	WRITE_ONCE(s->seq_next, sector + sectors);
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
