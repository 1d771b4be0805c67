/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Choice of the mirror to read from, without a count that CPUs share.
 *
 * For arrays without a rotational member. Each CPU chooses by what it has
 * started itself: the member on which it has the fewest reads in flight; if
 * there is more than one, the one that it has not used for the longest; a
 * member that is sequential for this CPU before all others. In a closed loop
 * that serves a slower member less, the same as a count that is shared.
 *
 * What a CPU cannot see so is which member is slower if it never has more than
 * one read in flight. So every eighth read is timed, and every 20 ms one CPU
 * sums up what all have measured. A member that takes half as long again as
 * the fastest is given a weight, by which its reads count more, and an idle one
 * of them is not chosen. One read now and then finds out whether that is still
 * true. Members that differ less are equal, so that noise moves no reads.
 *
 * Nothing here needs a lock, or is exact: a stale value makes a worse choice.
 * Two things are exact. Every read that was started is ended, on whatever CPU,
 * in the counters of the CPU that started it; and they are not freed before.
 */
#ifndef _MD_BALANCE_H
#define _MD_BALANCE_H

#include <linux/atomic.h>
#include <linux/blkdev.h>
#include <linux/percpu.h>
#include <linux/types.h>

struct mddev;
struct md_rdev;

/* The weight of a member that is not slower than the fastest. */
#define MD_BALANCE_WEIGHT	16

/**
 * struct md_balance_cpu - what one CPU has read from one member
 * @started: reads started here
 * @done: of them, those that ended here
 * @moved: of them, those that ended on other CPUs
 * @sampled: how many reads that ended here were timed
 * @latency: how long they took in all, in units of 64 ns; wraps around
 * @turn: when this member was last chosen here, in choices of this CPU
 * @seq_start: where on the member the last run of sequential reads began
 * @seq_next: where it goes on
 */
struct md_balance_cpu {
	unsigned int	started;
	unsigned int	done;
	atomic_t	moved;
	unsigned int	sampled;
	unsigned int	latency;
	unsigned long	turn;
	sector_t	seq_start;
	sector_t	seq_next;
};

/**
 * struct md_balance - reads of one member
 * @cpu: per CPU, or NULL if the member was never in a mirror
 * @weight: how much a read counts, %MD_BALANCE_WEIGHT if the member is not slow
 * @probe: the next read goes here, to find out whether it still is slow
 * @sampled: sum of @cpu->sampled, of what is in @average
 * @latency: sum of @cpu->latency, likewise
 * @new_sampled: what has been added to that since
 * @new_latency: likewise
 * @ended: reads that had ended
 * @average: smoothed time that a read takes, in units of 8 ns, or 0
 * @progress: when a read was last seen to have ended, in jiffies
 * @probed: when @probe was last set, in jiffies
 */
struct md_balance {
	struct md_balance_cpu __percpu *cpu;
	unsigned int	weight;
	bool		probe;

	/* Only used by md_balance_refresh(). */
	unsigned int	sampled;
	unsigned int	latency;
	unsigned int	new_sampled;
	unsigned int	new_latency;
	unsigned int	ended;
	unsigned int	average;
	unsigned long	progress;
	unsigned long	probed;
};

/**
 * struct md_balance_read - a read between its start and its end
 * @start: when it started, ns of ktime_get(), or 0 if it is not timed
 * @cpu: where it started
 */
struct md_balance_read {
	u64	start;
	int	cpu;
};

/**
 * struct md_balance_pick - the best of the members offered so far
 * @index: what the caller calls it, or -1 if none has been offered
 * @cost: the less, the better
 * @turn: when it was last chosen
 */
struct md_balance_pick {
	int		index;
	unsigned int	cost;
	unsigned long	turn;
};

int __must_check md_balance_init(struct md_balance *balance);
void md_balance_exit(struct md_balance *balance);
void md_balance_start(struct md_rdev *rdev, struct md_balance_read *read,
		      sector_t sector, unsigned int sectors);
void md_balance_end(struct md_rdev *rdev, struct md_balance_read *read);
unsigned int md_balance_pending(struct md_rdev *rdev);
void md_balance_refresh(struct mddev *mddev);

/**
 * md_balance_offer - consider a member for a read
 * @pick: the best so far
 * @balance: the member, after md_balance_init()
 * @bdev: its disk
 * @index: what the caller calls it, not negative
 * @sector: where the read is on the member
 *
 * Any context; where preemption is enabled, the CPU may be another one than
 * that of the last call, or of md_balance_start(): a worse choice.
 *
 * Return: true if @pick is now this member.
 */
static inline bool md_balance_offer(struct md_balance_pick *pick,
				    struct md_balance *balance,
				    struct block_device *bdev, int index,
				    sector_t sector)
{
	struct md_balance_cpu *c = raw_cpu_ptr(balance->cpu);
	unsigned int inflight = READ_ONCE(c->started) - READ_ONCE(c->done) -
				atomic_read(&c->moved);
	unsigned int cost = (inflight + 1) * READ_ONCE(balance->weight);
	unsigned long turn = READ_ONCE(c->turn);

	if (READ_ONCE(c->seq_next) == sector) {
		unsigned int opt = bdev_io_opt(bdev) >> SECTOR_SHIFT;

		/* After a run of the optimal size, an idle one is better. */
		cost = 0;
		if (opt && sector - READ_ONCE(c->seq_start) >= opt)
			cost = MD_BALANCE_WEIGHT + 1;
	} else if (unlikely(READ_ONCE(balance->probe))) {
		cost = 0;
	}

	if (pick->index >= 0 &&
	    (cost > pick->cost ||
	     (cost == pick->cost && (long)(turn - pick->turn) >= 0)))
		return false;

	pick->index = index;
	pick->cost = cost;
	pick->turn = turn;
	return true;
}

#endif
