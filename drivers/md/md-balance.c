// SPDX-License-Identifier: GPL-2.0-only
/*
 * Choice of the mirror to read from, without a count that CPUs share.
 *
 * See md-balance.h for how it is done.
 */
#include <linux/export.h>
#include <linux/ktime.h>
#include <linux/minmax.h>

#include "md.h"

/* One read of so many is timed. */
#define MD_BALANCE_SAMPLE	32
/* The average goes over so many, and begins anew after so many passed over. */
#define MD_BALANCE_SMOOTH	32
#define MD_BALANCE_ABSENT	64
/* A slow member is tried once in so many times of what a read takes there. */
#define MD_BALANCE_PROBE	64
/* Added to each time, in ns: what differs by less is not worth a choice. */
#define MD_BALANCE_OVERHEAD	5000

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
	if (!balance->cpu)
		balance->cpu = alloc_percpu(struct md_balance_cpu);
	return balance->cpu ? 0 : -ENOMEM;
}
EXPORT_SYMBOL_GPL(md_balance_init);

/**
 * md_balance_exit - free what md_balance_init() made
 * @balance: initialised, or zeroed memory
 *
 * When all reads have ended. Does not sleep.
 */
void md_balance_exit(struct md_balance *balance)
{
	free_percpu(balance->cpu);
	balance->cpu = NULL;
}
EXPORT_SYMBOL_GPL(md_balance_exit);

/**
 * md_balance_alloc_set - allocate what the CPUs remember of an array
 *
 * May sleep; allocates with GFP_KERNEL. To be freed by free_percpu().
 *
 * Return: the memory, or NULL.
 */
struct md_balance_set __percpu *md_balance_alloc_set(void)
{
	struct md_balance_set __percpu *set = alloc_percpu(struct md_balance_set);
	int cpu;

	/* The first read of a CPU continues nothing. */
	if (set)
		for_each_possible_cpu(cpu)
			per_cpu_ptr(set, cpu)->seq_next = MaxSector;
	return set;
}
EXPORT_SYMBOL_GPL(md_balance_alloc_set);

static void md_balance_set_slow(struct md_balance_cpu *c, bool slow)
{
	if (READ_ONCE(c->slow) != slow)
		WRITE_ONCE(c->slow, slow);
}

/* Is it time to try a slower member again? */
static bool md_balance_probe(struct md_balance_pick *slow,
			     struct md_balance_pick *fast)
{
	u64 passed = READ_ONCE(slow->cpu->passed);

	return !slow->inflight && passed * fast->average >
	       (u64)MD_BALANCE_PROBE * slow->average;
}

/* Is a member better for the next read than the best so far, @b? */
static bool md_balance_better(struct md_balance_pick *a,
			      struct md_balance_pick *b)
{
	/* No time is known before the first read has ended. */
	if (a->average && b->average) {
		u64 at = a->average, bt = b->average;

		md_balance_set_slow(a->cpu, bt + bt / 2 < at);
		md_balance_set_slow(b->cpu, at + at / 2 < bt);
		at *= a->inflight + 1;
		bt *= b->inflight + 1;
		if (at + at / 2 < bt)
			return !md_balance_probe(b, a);
		if (bt + bt / 2 < at)
			return md_balance_probe(a, b);
	}
	if (a->inflight != b->inflight)
		return a->inflight < b->inflight;
	if (a->index == b->turn || b->index == b->turn)
		return a->index == b->turn;
	return b->later;
}

/**
 * md_balance_offer - consider a member for a read
 * @pick: the best so far, after md_balance_begin()
 * @rdev: the member, after md_balance_init()
 * @index: what the caller calls it, not negative
 *
 * Any context.
 *
 * Return: true if @pick is now this member.
 */
bool md_balance_offer(struct md_balance_pick *pick, struct md_rdev *rdev,
		      int index)
{
	struct md_balance_cpu *c = raw_cpu_ptr(rdev->balance.cpu);
	struct md_balance_pick next = *pick;

	next.index = index;
	next.cpu = c;
	next.inflight = md_balance_inflight(c);
	next.average = READ_ONCE(c->average);
	WRITE_ONCE(c->passed, c->passed + 1);
	if (pick->index >= 0 && !md_balance_better(&next, pick))
		return false;
	*pick = next;
	return true;
}
EXPORT_SYMBOL_GPL(md_balance_offer);

/**
 * md_balance_start - a read of a member begins
 * @rdev: the member, after md_balance_init() and rdev_inc_pending()
 * @read: to be handed to md_balance_end()
 * @shared: count it in one place only
 *
 * Process context; does not sleep.
 */
void md_balance_start(struct md_rdev *rdev, struct md_balance_read *read,
		      bool shared)
{
	struct md_balance_cpu *c;
	unsigned int started;

	read->start = 0;
	if (shared) {
		read->cpu = -1;
		atomic_inc(&rdev->balance.shared);
		return;
	}

	c = get_cpu_ptr(rdev->balance.cpu);
	read->cpu = smp_processor_id();
	started = c->started;
	WRITE_ONCE(c->started, started + 1);
	if (c->timed < MD_BALANCE_SMOOTH || started % MD_BALANCE_SAMPLE == 0)
		read->start = ktime_get_ns();
	if (c->passed) {
		/* What was known of a member not in use is old. */
		if (c->passed > MD_BALANCE_ABSENT && c->timed)
			WRITE_ONCE(c->timed, 1);
		WRITE_ONCE(c->passed, 0);
	}
	put_cpu_ptr(rdev->balance.cpu);
}
EXPORT_SYMBOL_GPL(md_balance_start);

/* Two that end at once on different CPUs may count as one. */
static void md_balance_time(struct md_balance_cpu *c, u64 ns)
{
	int average = READ_ONCE(c->average);
	int timed = READ_ONCE(c->timed);
	int time = min_t(u64, ns, NSEC_PER_SEC) + MD_BALANCE_OVERHEAD;

	if (timed < MD_BALANCE_SMOOTH)
		WRITE_ONCE(c->timed, ++timed);
	/* A read that was interrupted does not make the member slow. */
	if (average)
		time = min_t(s64, time, 4LL * average);
	WRITE_ONCE(c->average, average + (time - average) / timed);
}

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

	if (read->cpu < 0) {
		atomic_dec(&rdev->balance.shared);
		return;
	}

	if (read->start)
		md_balance_time(per_cpu_ptr(cpu, read->cpu),
				ktime_get_ns() - read->start);
	preempt_disable();
	if (likely(read->cpu == smp_processor_id()))
		this_cpu_inc(cpu->done);
	else
		atomic_inc(&per_cpu_ptr(cpu, read->cpu)->moved);
	preempt_enable();
}
EXPORT_SYMBOL_GPL(md_balance_end);
