// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of md-balance: which member is chosen, and that the counters are
 * exact when reads end elsewhere than they start.
 */
#include <kunit/test.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/smp.h>

#include "../md.h"

#define MEMBERS	3

/* An array of members that are only counted. */
struct balance_ctx {
	struct mddev	mddev;
	struct md_rdev	rdev[MEMBERS];
};

static int balance_init(struct kunit *test)
{
	struct balance_ctx *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	test->priv = ctx;
	INIT_LIST_HEAD(&ctx->mddev.disks);
	spin_lock_init(&ctx->mddev.balance_lock);
	/* No refresh but those that a test asks for. */
	ctx->mddev.balance_next = jiffies + 3600 * HZ;
	for (i = 0; i < MEMBERS; i++) {
		struct md_rdev *rdev = &ctx->rdev[i];

		rdev->mddev = &ctx->mddev;
		rdev->raid_disk = i;
		list_add_tail(&rdev->same_set, &ctx->mddev.disks);
		KUNIT_ASSERT_EQ(test, 0, md_balance_init(&rdev->balance));
	}
	return 0;
}

static void balance_exit(struct kunit *test)
{
	struct balance_ctx *ctx = test->priv;
	int i;

	if (!ctx)
		return;
	for (i = 0; i < MEMBERS; i++)
		md_balance_exit(&ctx->rdev[i].balance);
}

static int balance_choose_at(struct balance_ctx *ctx, sector_t sector)
{
	struct md_balance_pick pick = { .index = -1 };
	int i;

	for (i = 0; i < MEMBERS; i++)
		md_balance_offer(&pick, &ctx->rdev[i].balance, ctx->rdev[i].bdev,
				 i, sector);
	return pick.index;
}

/* For a read that continues nothing. */
static int balance_choose(struct balance_ctx *ctx)
{
	return balance_choose_at(ctx, 123456);
}

/* Choose, and start and end a read there, @n times; count them in @share. */
static void balance_reads(struct balance_ctx *ctx, int n, int *share)
{
	struct md_balance_read read;
	int i, k;

	for (k = 0; k < n; k++) {
		i = balance_choose(ctx);
		share[i]++;
		md_balance_start(&ctx->rdev[i], &read, 8 * k, 1);
		md_balance_end(&ctx->rdev[i], &read);
	}
}

/* Pretend that this CPU has timed @n reads of a member, and sum up. */
static void balance_timed(struct balance_ctx *ctx, int member, int n, unsigned int us)
{
	struct md_balance_cpu __percpu *cpu = ctx->rdev[member].balance.cpu;

	this_cpu_add(cpu->sampled, n);
	this_cpu_add(cpu->latency, n * us * 1000 / 64);
}

static void balance_refresh(struct balance_ctx *ctx)
{
	ctx->mddev.balance_next = jiffies;
	md_balance_refresh(&ctx->mddev);
	ctx->mddev.balance_next = jiffies + 3600 * HZ;
}

/* Reads of a member in flight, from all CPUs. */
static int balance_inflight(struct md_rdev *rdev)
{
	int inflight = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		struct md_balance_cpu *c = per_cpu_ptr(rdev->balance.cpu, cpu);

		inflight += c->started - c->done - atomic_read(&c->moved);
	}
	return inflight;
}

/* Equal members take turns. */
static void balance_takes_turns(struct kunit *test)
{
	struct balance_ctx *ctx = test->priv;
	int share[MEMBERS] = {};

	migrate_disable();
	balance_reads(ctx, 10 * MEMBERS, share);
	migrate_enable();
	KUNIT_EXPECT_EQ(test, share[0], 10);
	KUNIT_EXPECT_EQ(test, share[1], 10);
	KUNIT_EXPECT_EQ(test, share[2], 10);
}

/* A member that was not offered for long does not get all reads afterwards. */
static void balance_forgets(struct kunit *test)
{
	struct balance_ctx *ctx = test->priv;
	struct md_balance_read read;
	int share[MEMBERS] = {};
	int i;

	migrate_disable();
	for (i = 0; i < 1000; i++) {
		md_balance_start(&ctx->rdev[0], &read, 0, 1);
		md_balance_end(&ctx->rdev[0], &read);
	}
	balance_reads(ctx, 10 * MEMBERS, share);
	migrate_enable();
	KUNIT_EXPECT_EQ(test, share[0], 10);
	KUNIT_EXPECT_EQ(test, share[1], 10);
}

/* The member with fewer reads in flight is chosen. */
static void balance_counts(struct kunit *test)
{
	struct balance_ctx *ctx = test->priv;
	struct md_balance_read read[2 * MEMBERS];
	int i, share[MEMBERS] = {};

	migrate_disable();
	for (i = 0; i < 2 * MEMBERS; i++) {
		int k = balance_choose(ctx);

		share[k]++;
		md_balance_start(&ctx->rdev[k], &read[i], 1000 * i, 1);
	}
	for (i = 0; i < MEMBERS; i++) {
		KUNIT_EXPECT_EQ(test, share[i], 2);
		KUNIT_EXPECT_EQ(test, md_balance_pending(&ctx->rdev[i]), 2);
	}
	/* Two end on member 1: the next two go there. */
	for (i = 0; i < 2; i++)
		md_balance_end(&ctx->rdev[1], &read[1]);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, balance_choose(ctx), 1);
		md_balance_start(&ctx->rdev[1], &read[1], 1000 * i, 1);
	}
	migrate_enable();
	for (i = 0; i < 2 * MEMBERS; i++)
		md_balance_end(&ctx->rdev[i % MEMBERS], &read[i % MEMBERS]);
	for (i = 0; i < MEMBERS; i++)
		KUNIT_EXPECT_EQ(test, balance_inflight(&ctx->rdev[i]), 0);
}

struct balance_end {
	struct md_rdev		*rdev;
	struct md_balance_read	*read;
};

static void balance_end_elsewhere(void *data)
{
	struct balance_end *end = data;

	md_balance_end(end->rdev, end->read);
}

/* A read that ends on another CPU is off the account of the one it started on. */
static void balance_moves(struct kunit *test)
{
	struct balance_ctx *ctx = test->priv;
	struct md_balance_read read;
	struct balance_end end = { &ctx->rdev[0], &read };
	struct md_balance_cpu *here;
	int i, other;

	cpus_read_lock();
	migrate_disable();
	other = cpumask_any_but(cpu_online_mask, smp_processor_id());
	if (other >= nr_cpu_ids) {
		migrate_enable();
		cpus_read_unlock();
		kunit_skip(test, "needs two CPUs");
	}
	here = raw_cpu_ptr(ctx->rdev[0].balance.cpu);
	for (i = 0; i < 100; i++) {
		md_balance_start(&ctx->rdev[0], &read, 0, 1);
		smp_call_function_single(other, balance_end_elsewhere, &end, 1);
	}
	KUNIT_EXPECT_EQ(test, here->started, 100);
	KUNIT_EXPECT_EQ(test, here->done, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&here->moved), 100);
	KUNIT_EXPECT_EQ(test, balance_inflight(&ctx->rdev[0]), 0);
	KUNIT_EXPECT_EQ(test, per_cpu_ptr(ctx->rdev[0].balance.cpu, other)->started, 0);
	migrate_enable();
	cpus_read_unlock();
}

/*
 * A member goes on with a run of sequential reads, however many are in flight;
 * after a run of the optimal size, until another one is idle.
 */
static void balance_sequential(struct kunit *test)
{
	struct balance_ctx *ctx = test->priv;
	struct md_balance_read read[8], other[MEMBERS];
	struct request_queue *queue = kunit_kzalloc(test, sizeof(*queue), GFP_KERNEL);
	struct block_device *bdev = kunit_kzalloc(test, sizeof(*bdev), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, queue);
	KUNIT_ASSERT_NOT_NULL(test, bdev);
	bdev->bd_queue = queue;
	for (i = 0; i < MEMBERS; i++)
		ctx->rdev[i].bdev = bdev;

	migrate_disable();
	for (i = 0; i < 8; i++) {
		if (i)
			KUNIT_EXPECT_EQ(test, 1, balance_choose_at(ctx, 100 + 8 * i));
		md_balance_start(&ctx->rdev[1], &read[i], 100 + 8 * i, 8);
	}
	KUNIT_EXPECT_NE(test, 1, balance_choose_at(ctx, 100));

	/* 64 sectors are the optimal size: an idle one is better. */
	queue->limits.io_opt = 64 << SECTOR_SHIFT;
	KUNIT_EXPECT_NE(test, 1, balance_choose_at(ctx, 164));
	for (i = 0; i < MEMBERS; i++)
		md_balance_start(&ctx->rdev[i], &other[i], 5000, 8);
	/* None is idle, and a new run is short. */
	KUNIT_EXPECT_NE(test, 1, balance_choose_at(ctx, 164));
	md_balance_start(&ctx->rdev[1], &read[0], 164 - 64, 64);
	KUNIT_EXPECT_EQ(test, 1, balance_choose_at(ctx, 164));
	migrate_enable();
}

/* Slow from half as long again; equal again below a fifth; no reads but probes. */
static void balance_slow(struct kunit *test)
{
	struct balance_ctx *ctx = test->priv;
	int share[MEMBERS] = {};
	int i;

	migrate_disable();
	for (i = 0; i < MEMBERS; i++)
		balance_timed(ctx, i, 16, i == 2 ? 140 : 100);
	balance_refresh(ctx);
	KUNIT_EXPECT_EQ(test, ctx->rdev[2].balance.weight, MD_BALANCE_WEIGHT);

	/* A few that took long do not make it slow. */
	balance_timed(ctx, 0, 16, 100);
	balance_timed(ctx, 1, 16, 100);
	balance_timed(ctx, 2, 15, 10000);
	balance_refresh(ctx);
	KUNIT_EXPECT_EQ(test, ctx->rdev[2].balance.weight, MD_BALANCE_WEIGHT);

	for (i = 0; i < 20; i++) {
		balance_timed(ctx, 0, 16, 100);
		balance_timed(ctx, 1, 16, 100);
		balance_timed(ctx, 2, 16, 210);
		balance_refresh(ctx);
	}
	KUNIT_EXPECT_EQ(test, ctx->rdev[0].balance.weight, MD_BALANCE_WEIGHT);
	KUNIT_EXPECT_GT(test, ctx->rdev[2].balance.weight, MD_BALANCE_WEIGHT);
	KUNIT_EXPECT_LE(test, ctx->rdev[2].balance.weight, 2 * MD_BALANCE_WEIGHT);

	/* Nor does one that did not, as long as it is above a fifth. */
	for (i = 0; i < 20; i++) {
		balance_timed(ctx, 2, 1, 130);
		balance_refresh(ctx);
	}
	KUNIT_EXPECT_GT(test, ctx->rdev[2].balance.weight, MD_BALANCE_WEIGHT);

	/* One read goes there when it is time to see whether it is still slow. */
	WRITE_ONCE(ctx->rdev[2].balance.probe, false);
	balance_reads(ctx, 20, share);
	KUNIT_EXPECT_EQ(test, share[2], 0);
	WRITE_ONCE(ctx->rdev[2].balance.probe, true);
	balance_reads(ctx, 20, share);
	KUNIT_EXPECT_EQ(test, share[2], 1);

	for (i = 0; i < 20; i++) {
		balance_timed(ctx, 0, 100, 100);
		balance_timed(ctx, 1, 100, 100);
		balance_timed(ctx, 2, 100, 110);
		balance_refresh(ctx);
	}
	KUNIT_EXPECT_EQ(test, ctx->rdev[2].balance.weight, MD_BALANCE_WEIGHT);
	migrate_enable();
}

/* With more in flight, a member that takes twice as long gets half as many. */
static void balance_weighs(struct kunit *test)
{
	struct balance_ctx *ctx = test->priv;
	struct md_balance_read read[30];
	int i, share[MEMBERS] = {};

	migrate_disable();
	ctx->rdev[2].balance.weight = 2 * MD_BALANCE_WEIGHT;
	for (i = 0; i < 30; i++) {
		int k = balance_choose(ctx);

		share[k]++;
		md_balance_start(&ctx->rdev[k], &read[i], 1000 * i, 1);
	}
	migrate_enable();
	KUNIT_EXPECT_EQ(test, share[0], 12);
	KUNIT_EXPECT_EQ(test, share[1], 12);
	KUNIT_EXPECT_EQ(test, share[2], 6);
}

/* A member on which reads are in flight, and none ends, is the last choice. */
static void balance_hangs(struct kunit *test)
{
	struct balance_ctx *ctx = test->priv;
	struct md_balance_read hung;
	int share[MEMBERS] = {};
	int i;

	migrate_disable();
	for (i = 0; i < MEMBERS; i++)
		balance_timed(ctx, i, 100, 100);
	balance_refresh(ctx);
	md_balance_start(&ctx->rdev[1], &hung, 0, 1);
	migrate_enable();
	msleep(100);
	migrate_disable();
	balance_refresh(ctx);
	balance_reads(ctx, 200, share);
	KUNIT_EXPECT_EQ(test, share[1], 0);

	md_balance_end(&ctx->rdev[1], &hung);
	for (i = 0; i < 20; i++) {
		int k;

		for (k = 0; k < MEMBERS; k++)
			balance_timed(ctx, k, 100, 100);
		balance_refresh(ctx);
	}
	KUNIT_EXPECT_EQ(test, ctx->rdev[1].balance.weight, MD_BALANCE_WEIGHT);
	migrate_enable();
}

/* A member that is faulty, or only for writes, does not make others slow. */
static void balance_leaves_out(struct kunit *test)
{
	struct balance_ctx *ctx = test->priv;
	int i, round;

	set_bit(Faulty, &ctx->rdev[0].flags);
	set_bit(WriteMostly, &ctx->rdev[1].flags);
	migrate_disable();
	for (round = 0; round < 20; round++) {
		for (i = 0; i < MEMBERS; i++)
			balance_timed(ctx, i, 16, i == 2 ? 1000 : 10);
		balance_refresh(ctx);
	}
	migrate_enable();
	KUNIT_EXPECT_EQ(test, ctx->rdev[2].balance.weight, MD_BALANCE_WEIGHT);
}

static struct kunit_case balance_cases[] = {
	KUNIT_CASE(balance_takes_turns),
	KUNIT_CASE(balance_forgets),
	KUNIT_CASE(balance_counts),
	KUNIT_CASE(balance_moves),
	KUNIT_CASE(balance_sequential),
	KUNIT_CASE(balance_slow),
	KUNIT_CASE(balance_weighs),
	KUNIT_CASE(balance_hangs),
	KUNIT_CASE(balance_leaves_out),
	{}
};

static struct kunit_suite balance_suite = {
	.name = "md-balance",
	.init = balance_init,
	.exit = balance_exit,
	.test_cases = balance_cases,
};

kunit_test_suite(balance_suite);

MODULE_DESCRIPTION("KUnit tests of md-balance");
MODULE_LICENSE("GPL");
