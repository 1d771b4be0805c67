// SPDX-License-Identifier: GPL-2.0-only
/*
 * Choice of the mirror to read from, without a count that CPUs share.
 *
 * See md-balance.h for how it is done.
 */
#include <linux/export.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>

#include "md.h"
#include "md-balance.h"

/* Time one read of so many, a power of two. */
#define SAMPLE		8
/* Take the mean of at least so many that were timed, of each member, */
#define ENOUGH		16
/* or wait for so many periods. */
#define PATIENCE	8
/* Sum up so often, in jiffies. */
#define PERIOD		max(HZ / 50, 1)
/* Within this, in units of 8 ns, members are equal: 5 us. */
#define EQUAL		625
/* A member is at most so many times as slow. */
#define SLOWEST		64
/* A slow member is read once in so many times of what a read takes there. */
#define PROBE		64

/* Choices made on this CPU, by any array. */
static DEFINE_PER_CPU(unsigned long, md_balance_turn);

/**
 * md_balance_init - begin to count the reads of a member
 * @balance: initialised, or zeroed memory
 *
 * May sleep; allocates with GFP_KERNEL, in a scope without I/O where the
 * caller's allocations must not start any. Before reads may choose the member.
 *
 * Return: 0, also if it had been initialised, or -ENOMEM.
 */
int md_balance_init(struct md_balance *balance)
{
	int cpu;

	if (balance->cpu)
		return 0;

	balance->cpu = alloc_percpu(struct md_balance_cpu);
	if (!balance->cpu)
		return -ENOMEM;

	/* The first read of a CPU continues nothing. */
	for_each_possible_cpu(cpu)
		per_cpu_ptr(balance->cpu, cpu)->seq_next = MaxSector;
	balance->weight = MD_BALANCE_WEIGHT;
	balance->progress = jiffies;
	balance->probed = jiffies;
	return 0;
}
EXPORT_SYMBOL_GPL(md_balance_init);

/**
 * md_balance_exit - free what md_balance_init() made
 * @balance: initialised, or zeroed memory
 *
 * When all reads have ended and a grace period has passed since the member was
 * taken off mddev->disks. Does not sleep.
 */
void md_balance_exit(struct md_balance *balance)
{
	free_percpu(balance->cpu);
	balance->cpu = NULL;
}
EXPORT_SYMBOL_GPL(md_balance_exit);

/**
 * md_balance_start - a read of a member begins
 * @rdev: the member, after md_balance_init() and rdev_inc_pending()
 * @read: to be handed to md_balance_end()
 * @sector: where on the member
 * @sectors: how much
 *
 * Process context; does not sleep.
 */
void md_balance_start(struct md_rdev *rdev, struct md_balance_read *read,
		      sector_t sector, unsigned int sectors)
{
	struct md_balance *balance = &rdev->balance;
	struct md_balance_cpu *c;
	unsigned long turn;

	c = get_cpu_ptr(balance->cpu);
	turn = __this_cpu_inc_return(md_balance_turn);
	WRITE_ONCE(c->started, c->started + 1);
	WRITE_ONCE(c->turn, turn);
	if (c->seq_next != sector)
		WRITE_ONCE(c->seq_start, sector);
	WRITE_ONCE(c->seq_next, sector + sectors);
	read->cpu = smp_processor_id();
	put_cpu_ptr(balance->cpu);

	read->start = 0;
	if (unlikely(READ_ONCE(balance->probe))) {
		WRITE_ONCE(balance->probe, false);
		read->start = ktime_get_ns();
	} else if (turn % SAMPLE == 0) {
		read->start = ktime_get_ns();
		if (time_after_eq(jiffies, READ_ONCE(rdev->mddev->balance_next)))
			md_balance_refresh(rdev->mddev);
	}
}
EXPORT_SYMBOL_GPL(md_balance_start);

/**
 * md_balance_end - a read of a member has ended
 * @rdev: the member, before rdev_dec_pending()
 * @read: from md_balance_start()
 *
 * Any context.
 */
void md_balance_end(struct md_rdev *rdev, struct md_balance_read *read)
{
	struct md_balance_cpu __percpu *cpu = rdev->balance.cpu;

	preempt_disable();
	if (likely(read->cpu == smp_processor_id()))
		this_cpu_inc(cpu->done);
	else
		atomic_inc(&per_cpu_ptr(cpu, read->cpu)->moved);
	if (read->start) {
		u64 ns = ktime_get_ns() - read->start;

		this_cpu_add(cpu->latency, min_t(u64, ns >> 6, NSEC_PER_SEC >> 6));
		this_cpu_inc(cpu->sampled);
	}
	preempt_enable();
}
EXPORT_SYMBOL_GPL(md_balance_end);

/**
 * md_balance_pending - how many reads does a member have in flight
 * @rdev: the member, after md_balance_init()
 *
 * For arrays with a rotational member, which want to know, and can wait for
 * it: reads the memory of all possible CPUs. Any context.
 *
 * Return: reads in flight from all CPUs, about; if there are none, 1 if there
 * is other I/O, or may be.
 */
unsigned int md_balance_pending(struct md_rdev *rdev)
{
	int pending = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		struct md_balance_cpu *c = per_cpu_ptr(rdev->balance.cpu, cpu);

		pending += READ_ONCE(c->started) - READ_ONCE(c->done) -
			   atomic_read(&c->moved);
	}
	if (pending > 0)
		return pending;
	return !rdev_is_idle(rdev);
}
EXPORT_SYMBOL_GPL(md_balance_pending);

/*
 * Sum up what the CPUs have measured since the last time. False if these are
 * too few reads to tell anything.
 */
static bool md_balance_sum(struct md_balance *balance, unsigned long now)
{
	unsigned int started = 0, ended = 0, sampled = 0, latency = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		struct md_balance_cpu *c = per_cpu_ptr(balance->cpu, cpu);

		ended += READ_ONCE(c->done) + atomic_read(&c->moved);
		started += READ_ONCE(c->started);
		latency += READ_ONCE(c->latency);
		sampled += READ_ONCE(c->sampled);
	}

	if (ended != balance->ended || started == ended)
		balance->progress = now;
	balance->ended = ended;
	balance->new_sampled = sampled - balance->sampled;
	balance->new_latency = latency - balance->latency;

	/* A slow member is hardly read: take what there is. */
	return balance->new_sampled >= ENOUGH ||
	       balance->weight > MD_BALANCE_WEIGHT;
}

/* Take the mean of what has been summed up, and begin anew. */
static void md_balance_measure(struct md_balance *balance)
{
	unsigned int n = balance->new_sampled;
	unsigned int mean;

	if (n < (balance->weight > MD_BALANCE_WEIGHT ? 1 : ENOUGH))
		return;
	mean = min_t(u64, div_u64((u64)balance->new_latency << 3, n),
		     INT_MAX) | 1;
	balance->sampled += n;
	balance->latency += balance->new_latency;

	/* A read that was interrupted does not make its member slow. */
	if (balance->average) {
		mean = min(mean, 2 * balance->average);
		mean = balance->average - balance->average / 4 + mean / 4;
	}
	balance->average = mean;
}

/* The largest of 16, 24, 32, 48, 64 ... that is not above @ratio. */
static unsigned int md_balance_step(unsigned int ratio)
{
	unsigned int step = rounddown_pow_of_two(ratio);

	return ratio >= step + step / 2 ? step + step / 2 : step;
}

static void md_balance_weigh(struct md_balance *balance, unsigned int fastest,
			     unsigned long now)
{
	unsigned int weight = balance->weight;
	unsigned int ratio = MD_BALANCE_WEIGHT;
	unsigned long wait;

	if (now - balance->progress > 2 * PERIOD) {
		/* Nothing has ended for a while: it hangs. */
		WRITE_ONCE(balance->weight, SLOWEST * MD_BALANCE_WEIGHT);
		return;
	}

	if (balance->average > fastest + EQUAL)
		ratio = min_t(u64, SLOWEST * MD_BALANCE_WEIGHT,
			      div_u64((u64)balance->average * MD_BALANCE_WEIGHT,
				      fastest));
	/* Slow from 1.5 on, equal again below 1.2. */
	if (ratio < weight - weight / 5 || ratio >= weight + weight / 2)
		weight = md_balance_step(ratio);
	if (weight != balance->weight)
		WRITE_ONCE(balance->weight, weight);
	if (weight == MD_BALANCE_WEIGHT)
		return;

	wait = nsecs_to_jiffies((u64)balance->average * 8 * PROBE);
	if (time_after(now, balance->probed + max_t(unsigned long, wait, PERIOD))) {
		balance->probed = now;
		WRITE_ONCE(balance->probe, true);
	}
}

static bool md_balance_counts(struct md_rdev *rdev)
{
	return rdev->balance.cpu && rdev->raid_disk >= 0 &&
	       !test_bit(Faulty, &rdev->flags) &&
	       !test_bit(WriteMostly, &rdev->flags);
}

/**
 * md_balance_refresh - find out which members are slow
 * @mddev: the array
 *
 * Called by md_balance_start(). Process context; does not sleep. One CPU at a
 * time; reads the memory of all possible CPUs.
 */
void md_balance_refresh(struct mddev *mddev)
{
	unsigned int fastest = UINT_MAX;
	unsigned long now = jiffies;
	struct md_rdev *rdev;
	bool enough = true;

	if (!spin_trylock(&mddev->balance_lock))
		return;

	if (time_before(now, mddev->balance_next)) {
		spin_unlock(&mddev->balance_lock);
		return;
	}
	WRITE_ONCE(mddev->balance_next, now + PERIOD);

	rcu_read_lock();
	rdev_for_each_rcu(rdev, mddev)
		if (md_balance_counts(rdev))
			enough &= md_balance_sum(&rdev->balance, now);
	/* All at the same time, so that a burst of load is in all of them. */
	enough |= ++mddev->balance_waited >= PATIENCE;
	if (enough)
		mddev->balance_waited = 0;
	rdev_for_each_rcu(rdev, mddev) {
		if (!md_balance_counts(rdev))
			continue;
		if (enough)
			md_balance_measure(&rdev->balance);
		if (rdev->balance.average)
			fastest = min(fastest, rdev->balance.average);
	}
	if (fastest != UINT_MAX)
		rdev_for_each_rcu(rdev, mddev)
			if (md_balance_counts(rdev))
				md_balance_weigh(&rdev->balance, fastest, now);
	rcu_read_unlock();
	spin_unlock(&mddev->balance_lock);
}
EXPORT_SYMBOL_GPL(md_balance_refresh);
