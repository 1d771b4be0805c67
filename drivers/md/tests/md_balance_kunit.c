// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of md-balance: which member is chosen, and that the counters are
 * exact when reads end elsewhere than they start.
 */
#include <kunit/test.h>
#include <linux/cpu.h>
#include <linux/module.h>
#include <linux/smp.h>

#include "../md.h"

#define MEMBERS	3

static struct md_balance_set __percpu *balance_set;

static int balance_init(struct kunit *test)
{
	struct md_rdev *rdev = kunit_kcalloc(test, MEMBERS, sizeof(*rdev), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, rdev);
	balance_set = md_balance_alloc_set();
	KUNIT_ASSERT_NOT_NULL(test, balance_set);
	test->priv = rdev;
	for (i = 0; i < MEMBERS; i++)
		KUNIT_ASSERT_EQ(test, 0, md_balance_init(&rdev[i].balance));
	migrate_disable();
	return 0;
}

static void balance_exit(struct kunit *test)
{
	struct md_rdev *rdev = test->priv;
	int i;

	if (!rdev)
		return;
	migrate_enable();
	for (i = 0; i < MEMBERS; i++)
		md_balance_exit(&rdev[i].balance);
	free_percpu(balance_set);
}

static struct md_balance_cpu *balance_here(struct md_rdev *rdev)
{
	return raw_cpu_ptr(rdev->balance.cpu);
}

/* Reads of a member in flight, from all CPUs. */
static int balance_inflight(struct md_rdev *rdev)
{
	int inflight = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		inflight += md_balance_inflight(per_cpu_ptr(rdev->balance.cpu, cpu));
	return inflight;
}

static int balance_choose(struct md_rdev *rdev)
{
	struct md_balance_pick pick;
	int i;

	md_balance_begin(&pick, balance_set, MEMBERS, false);
	for (i = 0; i < MEMBERS; i++) {
		if (md_balance_take(&pick, &rdev[i].balance, i))
			return i;
		md_balance_offer(&pick, &rdev[i], i);
	}
	return pick.index;
}

/* Choose, and start a read there. */
static int balance_start(struct md_rdev *rdev, struct md_balance_read *read)
{
	int i = balance_choose(rdev);

	md_balance_start(&rdev[i], read, false);
	return i;
}

/* Where reads end at once, a CPU stays with one member. */
static void balance_stays(struct kunit *test)
{
	struct md_rdev *rdev = test->priv;
	struct md_balance_pick pick;
	int i, turn, changes = 0;

	md_balance_begin(&pick, balance_set, MEMBERS, true);
	KUNIT_EXPECT_EQ(test, pick.turn, raw_smp_processor_id() % MEMBERS);
	KUNIT_EXPECT_TRUE(test, pick.compare ||
			  md_balance_take(&pick, &rdev[pick.turn].balance, pick.turn));
	for (i = 0; i < 1000; i++) {
		turn = pick.turn;
		md_balance_begin(&pick, balance_set, MEMBERS, true);
		changes += pick.turn != turn;
	}
	KUNIT_EXPECT_EQ(test, changes, 0);
}

/* End a read as if it had taken that long, if it is timed. */
static void balance_end(struct md_rdev *rdev, struct md_balance_read *read,
			unsigned int us)
{
	if (read->start)
		read->start = ktime_get_ns() - us * NSEC_PER_USEC;
	md_balance_end(rdev, read);
}

/* @n reads, one at a time, that take @us at each member; count them in @share. */
static void balance_reads(struct md_rdev *rdev, int n, const int *us, int *share)
{
	struct md_balance_read read;
	int i, k;

	memset(share, 0, MEMBERS * sizeof(*share));
	for (k = 0; k < n; k++) {
		i = balance_start(rdev, &read);
		share[i]++;
		balance_end(&rdev[i], &read, us[i]);
	}
}

/* Equal members take turns, and each of them is timed. */
static void balance_takes_turns(struct kunit *test)
{
	static const int us[MEMBERS] = { 100, 100, 100 };
	struct md_rdev *rdev = test->priv;
	int i, share[MEMBERS];

	balance_reads(rdev, 1000 * MEMBERS, us, share);
	for (i = 0; i < MEMBERS; i++) {
		KUNIT_EXPECT_GE(test, share[i], 960);
		KUNIT_EXPECT_LE(test, share[i], 1040);
		KUNIT_EXPECT_GT(test, balance_here(&rdev[i])->average, 100000);
		KUNIT_EXPECT_LT(test, balance_here(&rdev[i])->average, 120000);
	}
}

/* So do members that differ a little. */
static void balance_nearly_equal(struct kunit *test)
{
	static const int us[MEMBERS] = { 100, 130, 115 };
	struct md_rdev *rdev = test->priv;
	int share[MEMBERS];

	balance_reads(rdev, 1000 * MEMBERS, us, share);
	KUNIT_EXPECT_GE(test, share[1], 960);
	KUNIT_EXPECT_LE(test, share[1], 1040);
}

/* A member that was not offered for long does not get all reads afterwards. */
static void balance_forgets(struct kunit *test)
{
	static const int us[MEMBERS] = { 100, 100, 100 };
	struct md_rdev *rdev = test->priv;
	struct md_balance_read read;
	int i, share[MEMBERS];

	for (i = 0; i < 1000; i++) {
		struct md_balance_pick pick;

		md_balance_begin(&pick, balance_set, MEMBERS, false);
		md_balance_offer(&pick, &rdev[0], 0);
		md_balance_start(&rdev[0], &read, false);
		balance_end(&rdev[0], &read, 100);
	}
	balance_reads(rdev, 1000 * MEMBERS, us, share);
	KUNIT_EXPECT_GE(test, share[0], 960);
	KUNIT_EXPECT_LE(test, share[0], 1040);
}

/* The member with fewer reads in flight is chosen. */
static void balance_counts(struct kunit *test)
{
	struct md_rdev *rdev = test->priv;
	struct md_balance_read read[MEMBERS][2];
	int i, k, share[MEMBERS] = {};

	for (i = 0; i < 2 * MEMBERS; i++) {
		k = balance_choose(rdev);
		KUNIT_ASSERT_LT(test, share[k], 2);
		md_balance_start(&rdev[k], &read[k][share[k]++], false);
	}
	for (i = 0; i < MEMBERS; i++)
		KUNIT_EXPECT_EQ(test, balance_inflight(&rdev[i]), 2);
	/* Two end on member 1: the next two go there. */
	for (i = 0; i < 2; i++)
		md_balance_end(&rdev[1], &read[1][i]);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(test, balance_start(rdev, &read[1][i]), 1);
	for (i = 0; i < MEMBERS; i++) {
		for (k = 0; k < 2; k++)
			md_balance_end(&rdev[i], &read[i][k]);
		KUNIT_EXPECT_EQ(test, balance_inflight(&rdev[i]), 0);
	}
}

struct balance_elsewhere {
	struct md_rdev		*rdev;
	struct md_balance_read	*read;
};

static void balance_end_elsewhere(void *data)
{
	struct balance_elsewhere *end = data;

	md_balance_end(end->rdev, end->read);
}

/* A read that ends on another CPU is off the account of the one it started on. */
static void balance_moves(struct kunit *test)
{
	struct md_rdev *rdev = test->priv;
	struct md_balance_read read;
	struct balance_elsewhere end = { rdev, &read };
	struct md_balance_cpu *here = balance_here(rdev);
	int i, other;

	cpus_read_lock();
	other = cpumask_any_but(cpu_online_mask, smp_processor_id());
	if (other >= nr_cpu_ids) {
		cpus_read_unlock();
		kunit_skip(test, "needs two CPUs");
	}
	for (i = 0; i < 100; i++) {
		md_balance_start(rdev, &read, false);
		smp_call_function_single(other, balance_end_elsewhere, &end, 1);
	}
	KUNIT_EXPECT_EQ(test, here->started, 100);
	KUNIT_EXPECT_EQ(test, here->done, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&here->moved), 100);
	KUNIT_EXPECT_EQ(test, balance_inflight(rdev), 0);
	KUNIT_EXPECT_EQ(test, per_cpu_ptr(rdev->balance.cpu, other)->started, 0);
	/* It learns how long they take all the same. */
	KUNIT_EXPECT_GT(test, here->average, 0);
	cpus_read_unlock();
}

/* Where members are rotational, all CPUs count in one place, and only there. */
static void balance_shared(struct kunit *test)
{
	struct md_rdev *rdev = test->priv;
	struct md_balance_read read[2];

	md_balance_start(rdev, &read[0], true);
	md_balance_start(rdev, &read[1], true);
	KUNIT_EXPECT_EQ(test, md_balance_shared(&rdev->balance), 2);
	KUNIT_EXPECT_EQ(test, balance_inflight(rdev), 0);
	md_balance_end(rdev, &read[0]);
	md_balance_end(rdev, &read[1]);
	KUNIT_EXPECT_EQ(test, md_balance_shared(&rdev->balance), 0);
	KUNIT_EXPECT_EQ(test, balance_inflight(rdev), 0);
}

/* A run of sequential reads is seen where it is, and how long it is. */
static void balance_sequential(struct kunit *test)
{
	int disk = -1;
	int i;

	KUNIT_EXPECT_EQ(test, md_balance_run(balance_set, 0, &disk), 0);
	for (i = 0; i < 4; i++)
		md_balance_note(balance_set, 100 + 8 * i, 8, 1);
	KUNIT_EXPECT_EQ(test, md_balance_run(balance_set, 100, &disk), 0);
	KUNIT_EXPECT_EQ(test, disk, -1);
	KUNIT_EXPECT_EQ(test, md_balance_run(balance_set, 132, &disk), 32);
	KUNIT_EXPECT_EQ(test, disk, 1);
	/* Elsewhere, or on another disk: a new run. */
	md_balance_note(balance_set, 5000, 8, 1);
	KUNIT_EXPECT_EQ(test, md_balance_run(balance_set, 5008, &disk), 8);
	md_balance_note(balance_set, 5008, 8, 2);
	KUNIT_EXPECT_EQ(test, md_balance_run(balance_set, 5016, &disk), 8);
	KUNIT_EXPECT_EQ(test, disk, 2);
}

/* How much longer @n reads take than they would without the slow member, in %. */
static int balance_loss(struct md_rdev *rdev, int n, const int *us)
{
	int share[MEMBERS];

	balance_reads(rdev, n, us, share);
	return (share[2] * (us[2] - us[0]) * 100) / (n * us[0]);
}

/* One at a time, a member that takes 2, 10, 100 times as long costs hardly any. */
static void balance_slow(struct kunit *test)
{
	int us[MEMBERS] = { 100, 100, 0 };
	struct md_rdev *rdev = test->priv;
	int share[MEMBERS];

	us[2] = 200;
	KUNIT_EXPECT_LE(test, balance_loss(rdev, 10000, us), 3);
	us[2] = 1000;
	KUNIT_EXPECT_LE(test, balance_loss(rdev, 10000, us), 4);
	us[2] = 10000;
	KUNIT_EXPECT_LE(test, balance_loss(rdev, 100000, us), 4);

	/* It is found out when that ends. */
	us[2] = 100;
	balance_reads(rdev, 100000, us, share);
	balance_reads(rdev, 3000, us, share);
	KUNIT_EXPECT_GE(test, share[2], 960);
}

/* A single read that took long does not make a member slow. */
static void balance_interrupted(struct kunit *test)
{
	static const int us[MEMBERS] = { 100, 100, 100 };
	struct md_rdev *rdev = test->priv;
	struct md_balance_read read;
	int share[MEMBERS];

	balance_reads(rdev, 1000, us, share);
	do {
		md_balance_start(&rdev[1], &read, false);
		balance_end(&rdev[1], &read, 100000);
	} while (!read.start);
	balance_reads(rdev, 3000, us, share);
	KUNIT_EXPECT_GE(test, share[1], 960);
}

/* With many in flight, a slow member has few of them, but some. */
static void balance_weighs(struct kunit *test)
{
	static const int us[MEMBERS] = { 100, 100, 1000 };
	struct md_rdev *rdev = test->priv;
	struct md_balance_read read[63];
	int i, on[63], share[MEMBERS];

	balance_reads(rdev, 1000, us, share);
	memset(share, 0, sizeof(share));
	for (i = 0; i < 63; i++) {
		on[i] = balance_start(rdev, &read[i]);
		share[on[i]]++;
	}
	KUNIT_EXPECT_GE(test, share[2], 1);
	KUNIT_EXPECT_LE(test, share[2], 6);
	KUNIT_EXPECT_LE(test, abs(share[0] - share[1]), 1);
	for (i = 0; i < 63; i++)
		md_balance_end(&rdev[on[i]], &read[i]);
}

/* A member on which reads hang is not tried again before they end. */
static void balance_hangs(struct kunit *test)
{
	static const int us[MEMBERS] = { 100, 100, 100 };
	struct md_rdev *rdev = test->priv;
	struct md_balance_read hung;
	int share[MEMBERS];

	balance_reads(rdev, 1000, us, share);
	md_balance_start(&rdev[1], &hung, false);
	balance_reads(rdev, 10000, us, share);
	KUNIT_EXPECT_EQ(test, share[1], 0);
	md_balance_end(&rdev[1], &hung);
	balance_reads(rdev, 3000, us, share);
	KUNIT_EXPECT_GE(test, share[1], 900);
}

static struct kunit_case balance_cases[] = {
	KUNIT_CASE(balance_takes_turns),
	KUNIT_CASE(balance_stays),
	KUNIT_CASE(balance_nearly_equal),
	KUNIT_CASE(balance_forgets),
	KUNIT_CASE(balance_counts),
	KUNIT_CASE(balance_moves),
	KUNIT_CASE(balance_shared),
	KUNIT_CASE(balance_sequential),
	KUNIT_CASE(balance_slow),
	KUNIT_CASE(balance_interrupted),
	KUNIT_CASE(balance_weighs),
	KUNIT_CASE(balance_hangs),
	{}
};

static struct kunit_suite balance_suite = {
	.name = "md_balance",
	.init = balance_init,
	.exit = balance_exit,
	.test_cases = balance_cases,
};

kunit_test_suite(balance_suite);

MODULE_DESCRIPTION("KUnit tests of md-balance");
MODULE_LICENSE("GPL");
