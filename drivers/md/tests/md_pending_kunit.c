// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of md-pending: what its header promises, mode by mode, and the
 * protocol at the top of md-pending.c under load.
 */
#include <kunit/test.h>
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/wait.h>

#include "../md-pending.h"

struct pending_ctx {
	struct md_pending	pending;
	atomic_t		released;
	wait_queue_head_t	wait;
};

static void pending_release(struct percpu_ref *ref)
{
	struct pending_ctx *ctx = container_of(ref, struct pending_ctx, pending.ref);

	atomic_inc(&ctx->released);
	wake_up(&ctx->wait);
}

static int pending_init(struct kunit *test)
{
	struct pending_ctx *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	init_waitqueue_head(&ctx->wait);
	KUNIT_ASSERT_EQ(test, 0, md_pending_init(&ctx->pending, pending_release,
						 "kunit", 0));
	test->priv = ctx;
	return 0;
}

static void pending_exit(struct kunit *test)
{
	struct pending_ctx *ctx = test->priv;

	if (ctx)
		md_pending_exit(&ctx->pending);
}

/* Wait for zero as an owner does. */
static bool pending_wait_zero(struct pending_ctx *ctx)
{
	return wait_event_timeout(ctx->wait, md_pending_is_zero(&ctx->pending),
				  10 * HZ);
}

/* Wait for the release function to have been called @n times: it comes after. */
static bool pending_wait_released(struct pending_ctx *ctx, int n)
{
	return wait_event_timeout(ctx->wait, atomic_read(&ctx->released) >= n,
				  10 * HZ);
}

/* Run @fn on each CPU in turn. Return: how many there are. */
static int pending_on_each_cpu(smp_call_func_t fn, struct pending_ctx *ctx)
{
	int cpu, n = 0;

	cpus_read_lock();
	for_each_online_cpu(cpu) {
		smp_call_function_single(cpu, fn, ctx, true);
		n++;
	}
	cpus_read_unlock();
	return n;
}

static void pending_get_here(void *info)
{
	struct pending_ctx *ctx = info;

	md_pending_get(&ctx->pending);
}

static void pending_starts_at_zero(struct kunit *test)
{
	struct pending_ctx *ctx = test->priv;

	KUNIT_EXPECT_EQ(test, MD_PENDING_ATOMIC, md_pending_mode(&ctx->pending));
	KUNIT_EXPECT_TRUE(test, md_pending_is_zero(&ctx->pending));
	/* The one call that md_pending_init() makes. */
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&ctx->released));
}

static void pending_counts_in_atomic_mode(struct kunit *test)
{
	struct pending_ctx *ctx = test->priv;

	atomic_set(&ctx->released, 0);
	md_pending_get(&ctx->pending);
	md_pending_get(&ctx->pending);
	KUNIT_EXPECT_FALSE(test, md_pending_is_zero(&ctx->pending));
	md_pending_put(&ctx->pending);
	KUNIT_EXPECT_FALSE(test, md_pending_is_zero(&ctx->pending));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&ctx->released));
	md_pending_put(&ctx->pending);
	KUNIT_EXPECT_TRUE(test, md_pending_is_zero(&ctx->pending));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&ctx->released));
	/* It rests at zero, and is used again. */
	md_pending_get(&ctx->pending);
	md_pending_put(&ctx->pending);
	KUNIT_EXPECT_EQ(test, 2, atomic_read(&ctx->released));
}

static void pending_never_zero_in_percpu_mode(struct kunit *test)
{
	struct pending_ctx *ctx = test->priv;

	md_pending_set_percpu(&ctx->pending, "test");
	atomic_set(&ctx->released, 0);
	KUNIT_EXPECT_EQ(test, MD_PENDING_PERCPU, md_pending_mode(&ctx->pending));
	KUNIT_EXPECT_FALSE(test, md_pending_is_zero(&ctx->pending));
	md_pending_get(&ctx->pending);
	md_pending_put(&ctx->pending);
	KUNIT_EXPECT_FALSE(test, md_pending_is_zero(&ctx->pending));
	KUNIT_EXPECT_EQ(test, 0, atomic_read(&ctx->released));

	/* Once more changes nothing. */
	md_pending_set_percpu(&ctx->pending, "test");
	KUNIT_EXPECT_EQ(test, MD_PENDING_PERCPU, md_pending_mode(&ctx->pending));

	md_pending_set_atomic(&ctx->pending, "test");
	KUNIT_EXPECT_TRUE(test, pending_wait_zero(ctx));
	KUNIT_EXPECT_EQ(test, MD_PENDING_ATOMIC, md_pending_mode(&ctx->pending));
	KUNIT_EXPECT_TRUE(test, pending_wait_released(ctx, 1));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&ctx->released));
}

/* Got on every CPU, put on this one: the sum is what counts. */
static void pending_sums_over_cpus(struct kunit *test)
{
	struct pending_ctx *ctx = test->priv;
	int n;

	md_pending_set_percpu(&ctx->pending, "test");
	n = pending_on_each_cpu(pending_get_here, ctx);
	md_pending_get(&ctx->pending);
	while (n--)
		md_pending_put(&ctx->pending);

	md_pending_set_atomic(&ctx->pending, "test");
	/* The switch's own reference goes soon, the other one stays. */
	synchronize_rcu();
	KUNIT_EXPECT_FALSE(test, md_pending_is_zero(&ctx->pending));
	atomic_set(&ctx->released, 0);
	md_pending_put(&ctx->pending);
	KUNIT_EXPECT_TRUE(test, md_pending_is_zero(&ctx->pending));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&ctx->released));
}

/* A switch lasts as long as a reader that was there before it. */
static void pending_switch_waits_for_readers(struct kunit *test)
{
	struct pending_ctx *ctx = test->priv;
	enum md_pending_mode mode;
	int released;
	bool zero;

	md_pending_set_percpu(&ctx->pending, "test");
	atomic_set(&ctx->released, 0);
	rcu_read_lock();
	md_pending_set_atomic_async(&ctx->pending, "test");
	mdelay(50);
	mode = md_pending_mode(&ctx->pending);
	zero = md_pending_is_zero(&ctx->pending);
	/* Gets and puts do not care. */
	md_pending_get(&ctx->pending);
	md_pending_put(&ctx->pending);
	released = atomic_read(&ctx->released);
	rcu_read_unlock();
	KUNIT_EXPECT_EQ(test, MD_PENDING_SWITCHING, mode);
	KUNIT_EXPECT_FALSE(test, zero);
	KUNIT_EXPECT_EQ(test, 0, released);

	/* Nobody asks again: the release function tells. */
	KUNIT_EXPECT_TRUE(test, pending_wait_zero(ctx));
	KUNIT_EXPECT_EQ(test, MD_PENDING_ATOMIC, md_pending_mode(&ctx->pending));
	KUNIT_EXPECT_TRUE(test, pending_wait_released(ctx, 1));
	KUNIT_EXPECT_EQ(test, 1, atomic_read(&ctx->released));
}

/* Percpu asked for in the middle of a switch, again and again. */
static void pending_turns_around(struct kunit *test)
{
	struct pending_ctx *ctx = test->priv;
	int i;

	for (i = 0; i < 20; i++) {
		md_pending_set_percpu(&ctx->pending, "test");
		KUNIT_ASSERT_EQ(test, MD_PENDING_PERCPU, md_pending_mode(&ctx->pending));
		md_pending_get(&ctx->pending);
		md_pending_set_atomic_async(&ctx->pending, "test");
		md_pending_set_percpu(&ctx->pending, "test");
		KUNIT_ASSERT_EQ(test, MD_PENDING_PERCPU, md_pending_mode(&ctx->pending));
		md_pending_put(&ctx->pending);
		md_pending_set_atomic_async(&ctx->pending, "test");
		md_pending_set_atomic(&ctx->pending, "test");
		KUNIT_ASSERT_EQ(test, MD_PENDING_ATOMIC, md_pending_mode(&ctx->pending));
	}
	KUNIT_EXPECT_TRUE(test, pending_wait_zero(ctx));
}

static void pending_exits_in_any_mode(struct kunit *test)
{
	struct pending_ctx *ctx = test->priv;
	struct md_pending unused = {};

	/* Nothing to undo. */
	md_pending_exit(&unused);

	md_pending_set_percpu(&ctx->pending, "test");
	md_pending_exit(&ctx->pending);
	/* Twice is once: pending_exit() does it a third time. */
	md_pending_exit(&ctx->pending);

	KUNIT_ASSERT_EQ(test, 0, md_pending_init(&ctx->pending, pending_release,
						 "kunit", 0));
	md_pending_set_percpu(&ctx->pending, "test");
	md_pending_set_atomic_async(&ctx->pending, "test");
	md_pending_exit(&ctx->pending);
}

/*
 * The protocol at the top of md-pending.c: readers on every CPU come and go, in
 * the manner of an I/O; whoever has closed and drained must be alone.
 */
#define PENDING_DRAINS	50

struct pending_door {
	struct pending_ctx	*ctx;
	bool			closed;
	bool			alone;
	atomic_t		intruders;
	atomic_long_t		entered;
};

static int pending_reader(void *data)
{
	struct pending_door *door = data;
	bool in;

	while (!kthread_should_stop()) {
		rcu_read_lock();
		/* Pairs with the release when the door opens: not alone then. */
		in = !smp_load_acquire(&door->closed);
		if (in)
			md_pending_get(&door->ctx->pending);
		rcu_read_unlock();
		if (in) {
			if (READ_ONCE(door->alone))
				atomic_inc(&door->intruders);
			udelay(1);
			if (READ_ONCE(door->alone))
				atomic_inc(&door->intruders);
			atomic_long_inc(&door->entered);
			md_pending_put(&door->ctx->pending);
		}
		cond_resched();
	}
	return 0;
}

static void pending_drain_excludes_readers(struct kunit *test)
{
	struct pending_ctx *ctx = test->priv;
	struct pending_door door = { .ctx = ctx };
	struct task_struct **tasks;
	unsigned long end;
	int n = 0, drained = 0, cpu;

	tasks = kunit_kcalloc(test, nr_cpu_ids, sizeof(*tasks), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, tasks);
	md_pending_set_percpu(&ctx->pending, "test");
	cpus_read_lock();
	for_each_online_cpu(cpu) {
		struct task_struct *task = kthread_create_on_cpu(pending_reader, &door,
								 cpu, "md_pending/%u");

		if (IS_ERR(task))
			break;
		tasks[n++] = task;
		wake_up_process(task);
	}
	KUNIT_EXPECT_EQ(test, n, num_online_cpus());
	cpus_read_unlock();

	end = jiffies + 60 * HZ;
	while (drained < PENDING_DRAINS && time_before(jiffies, end)) {
		WRITE_ONCE(door.closed, true);
		md_pending_set_atomic(&ctx->pending, "test");
		if (!pending_wait_zero(ctx)) {
			KUNIT_FAIL(test, "not drained in ten seconds");
			break;
		}
		WRITE_ONCE(door.alone, true);
		usleep_range(50, 100);
		WRITE_ONCE(door.alone, false);
		md_pending_set_percpu(&ctx->pending, "test");
		/* Pairs with the acquire in pending_reader(). */
		smp_store_release(&door.closed, false);
		drained++;
		usleep_range(500, 1000);
	}
	while (n--)
		kthread_stop(tasks[n]);

	KUNIT_EXPECT_EQ(test, 0, atomic_read(&door.intruders));
	KUNIT_EXPECT_EQ(test, drained, PENDING_DRAINS);
	KUNIT_EXPECT_GT(test, atomic_long_read(&door.entered), PENDING_DRAINS);
	kunit_info(test, "drained %d times, %ld times entered\n", drained,
		   atomic_long_read(&door.entered));
	md_pending_set_atomic(&ctx->pending, "test");
	KUNIT_EXPECT_TRUE(test, pending_wait_zero(ctx));
}

static struct kunit_case pending_cases[] = {
	KUNIT_CASE(pending_starts_at_zero),
	KUNIT_CASE(pending_counts_in_atomic_mode),
	KUNIT_CASE(pending_never_zero_in_percpu_mode),
	KUNIT_CASE(pending_sums_over_cpus),
	KUNIT_CASE(pending_switch_waits_for_readers),
	KUNIT_CASE(pending_turns_around),
	KUNIT_CASE(pending_exits_in_any_mode),
	KUNIT_CASE_SLOW(pending_drain_excludes_readers),
	{}
};

static struct kunit_suite pending_suite = {
	.name = "md_pending",
	.init = pending_init,
	.exit = pending_exit,
	.test_cases = pending_cases,
};

kunit_test_suite(pending_suite);

MODULE_DESCRIPTION("KUnit tests of md-pending");
MODULE_LICENSE("GPL");
