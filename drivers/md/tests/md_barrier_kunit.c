// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of md-barrier: what its header promises, call by call, and all of
 * it together under load.
 */
#include <kunit/test.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>

#include "../md.h"
#include "../md-barrier.h"

#define BITS		4
#define DEPTH		8
/* Long enough for what is ready to run to have run. */
#define MOMENT		(HZ / 10)
#define LONG		(20 * HZ)

struct barrier_ctx {
	struct mddev		mddev;
	struct md_barrier	barrier;
	atomic_t		flushed;
	/* I/O that only flush_pending() ends. */
	spinlock_t		lock;
	unsigned int		left[8];
	int			nr_left;
	/* Calls: all of them, and how many have not returned. */
	struct barrier_call	*call;
	atomic_t		calls;
};

/* A call that may sleep, in a thread of its own. */
struct barrier_call {
	struct barrier_ctx	*ctx;
	struct barrier_call	*next;
	void			(*fn)(struct barrier_call *call);
	sector_t		sector;
	int			arg;
	unsigned int		token;
	int			err;
	struct completion	started;
	struct completion	done;
	struct completion	exited;
};

static void barrier_flush(struct md_barrier *barrier)
{
	struct barrier_ctx *ctx = container_of(barrier, struct barrier_ctx, barrier);

	atomic_inc(&ctx->flushed);
	spin_lock_irq(&ctx->lock);
	while (ctx->nr_left > 0)
		md_barrier_put(barrier, ctx->left[--ctx->nr_left]);
	spin_unlock_irq(&ctx->lock);
}

static int barrier_init(struct kunit *test)
{
	struct barrier_ctx *ctx = kzalloc_obj(*ctx);

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	spin_lock_init(&ctx->lock);
	if (md_barrier_init(&ctx->barrier, &ctx->mddev, BITS, DEPTH,
			    BIT(MD_BARRIER_SHARED) | BIT(MD_BARRIER_EXCLUSIVE),
			    barrier_flush)) {
		kfree(ctx);
		return -ENOMEM;
	}
	test->priv = ctx;
	return 0;
}

static void barrier_exit(struct kunit *test)
{
	struct barrier_ctx *ctx = test->priv;
	struct barrier_call *call;

	if (!ctx)
		return;
	/* A test has failed, and left somebody waiting: leak it all. */
	if (atomic_read(&ctx->calls)) {
		kunit_err(test, "%d calls have not returned\n",
			  atomic_read(&ctx->calls));
		return;
	}
	md_barrier_exit(&ctx->barrier);
	while (ctx->call) {
		call = ctx->call;
		ctx->call = call->next;
		wait_for_completion(&call->exited);
		kfree(call);
	}
	kfree(ctx);
}

static void call_get(struct barrier_call *call)
{
	call->token = md_barrier_get(&call->ctx->barrier, call->sector, call->arg);
}

static void call_freeze(struct barrier_call *call)
{
	md_barrier_freeze(&call->ctx->barrier, call->arg);
}

static void call_raise(struct barrier_call *call)
{
	call->err = md_barrier_raise(&call->ctx->barrier, call->sector);
}

static void call_resync_begin(struct barrier_call *call)
{
	call->err = md_barrier_resync_begin(&call->ctx->barrier);
}

static void call_resync_end(struct barrier_call *call)
{
	md_barrier_resync_end(&call->ctx->barrier);
}

static void call_drain(struct barrier_call *call)
{
	md_barrier_drain(&call->ctx->barrier);
}

static void call_wait(struct barrier_call *call)
{
	wait_event(call->ctx->barrier.wait, atomic_read(&call->ctx->flushed));
}

static void call_exit(struct barrier_call *call)
{
	md_barrier_exit(&call->ctx->barrier);
}

static int barrier_thread(void *data)
{
	struct barrier_call *call = data;

	complete(&call->started);
	call->fn(call);
	atomic_dec(&call->ctx->calls);
	complete(&call->done);
	kthread_complete_and_exit(&call->exited, 0);
}

/* Freed at the end, if then all have returned. */
static struct barrier_call *barrier_start(struct kunit *test,
					  void (*fn)(struct barrier_call *),
					  sector_t sector, int arg)
{
	struct barrier_call *call = kzalloc_obj(*call);
	struct task_struct *task;

	KUNIT_ASSERT_NOT_NULL(test, call);
	call->ctx = test->priv;
	call->next = call->ctx->call;
	call->ctx->call = call;
	call->fn = fn;
	call->sector = sector;
	call->arg = arg;
	init_completion(&call->started);
	init_completion(&call->done);
	init_completion(&call->exited);
	atomic_inc(&call->ctx->calls);
	task = kthread_run(barrier_thread, call, "md_barrier");
	if (IS_ERR(task)) {
		atomic_dec(&call->ctx->calls);
		complete(&call->exited);
		KUNIT_FAIL_AND_ABORT(test, "no thread: %ld", PTR_ERR(task));
	}
	wait_for_completion(&call->started);
	return call;
}

static bool barrier_waits(struct barrier_call *call)
{
	return !wait_for_completion_timeout(&call->done, MOMENT);
}

static bool barrier_ends(struct barrier_call *call)
{
	return wait_for_completion_timeout(&call->done, LONG);
}

/* A sector in another bucket than sector 0. */
static sector_t barrier_elsewhere(struct barrier_ctx *ctx)
{
	unsigned int token, other;
	sector_t sector = 0;

	token = md_barrier_get_nested(&ctx->barrier, 0);
	do {
		sector += MD_BARRIER_UNIT_SECTORS;
		other = md_barrier_get_nested(&ctx->barrier, sector);
		md_barrier_put(&ctx->barrier, other);
	} while (other == token);
	md_barrier_put(&ctx->barrier, token);
	return sector;
}

static void barrier_is_fast(struct kunit *test)
{
	struct barrier_ctx *ctx = test->priv;
	unsigned int a, b;

	a = md_barrier_get(&ctx->barrier, 0, MD_BARRIER_SHARED);
	b = md_barrier_get(&ctx->barrier, 0, MD_BARRIER_EXCLUSIVE);
	KUNIT_EXPECT_EQ(test, a, MD_BARRIER_FAST + MD_BARRIER_SHARED);
	KUNIT_EXPECT_EQ(test, b, MD_BARRIER_FAST + MD_BARRIER_EXCLUSIVE);
	KUNIT_EXPECT_FALSE(test, md_barrier_has_waiters(&ctx->barrier, 0));
	md_barrier_put(&ctx->barrier, b);
	md_barrier_put(&ctx->barrier, a);
}

/* Whatever it came in as: the freeze waits, and the next one waits for it. */
static void barrier_freeze_waits(struct kunit *test)
{
	struct barrier_ctx *ctx = test->priv;
	struct barrier_call *freeze, *get;
	int class, i;

	for (i = 0; i < 4; i++) {
		unsigned int token;

		class = i & 1;
		/* In the second half, it is slow. */
		token = md_barrier_get(&ctx->barrier, 0, class);
		KUNIT_EXPECT_EQ(test, i < 2, token >= MD_BARRIER_FAST);
		freeze = barrier_start(test, call_freeze, 0, 0);
		KUNIT_EXPECT_TRUE(test, barrier_waits(freeze));
		get = barrier_start(test, call_get, 0, class);
		KUNIT_EXPECT_TRUE(test, barrier_waits(get));
		md_barrier_put(&ctx->barrier, token);
		KUNIT_EXPECT_TRUE(test, barrier_ends(freeze));
		KUNIT_EXPECT_TRUE(test, barrier_waits(get));
		KUNIT_EXPECT_TRUE(test, md_barrier_has_waiters(&ctx->barrier, 0));
		md_barrier_unfreeze(&ctx->barrier);
		KUNIT_EXPECT_TRUE(test, barrier_ends(get));
		KUNIT_EXPECT_LT(test, get->token, MD_BARRIER_FAST);
		md_barrier_put(&ctx->barrier, get->token);
		if (i == 0)	/* Fast again, for the other class. */
			ssleep(2);
	}
}

/* Read errors come in swarms: one grace period for all of them. */
static void barrier_lingers(struct kunit *test)
{
	struct barrier_ctx *ctx = test->priv;
	struct md_pending *count = &ctx->barrier.count[MD_BARRIER_EXCLUSIVE];
	int i;

	KUNIT_EXPECT_EQ(test, MD_PENDING_PERCPU, md_pending_mode(count));
	for (i = 0; i < 20; i++) {
		md_barrier_freeze(&ctx->barrier, 0);
		KUNIT_EXPECT_EQ(test, MD_PENDING_ATOMIC, md_pending_mode(count));
		md_barrier_unfreeze(&ctx->barrier);
		msleep(100);
		KUNIT_EXPECT_EQ(test, MD_PENDING_ATOMIC, md_pending_mode(count));
	}
	ssleep(2);
	KUNIT_EXPECT_EQ(test, MD_PENDING_PERCPU, md_pending_mode(count));
	barrier_is_fast(test);
}

/* The array's thread has an I/O to retry, that came in @class, fast or not. */
static void barrier_retry(struct kunit *test, enum md_barrier_class class)
{
	struct barrier_ctx *ctx = test->priv;
	struct barrier_call *freeze;
	unsigned int token, nested;

	token = md_barrier_get(&ctx->barrier, 0, class);
	md_barrier_queue(&ctx->barrier, &token, 0);
	KUNIT_EXPECT_LT(test, token, MD_BARRIER_FAST);

	/* Another one freezes, and does not wait for what is queued. */
	freeze = barrier_start(test, call_freeze, 0, 0);
	KUNIT_ASSERT_TRUE(test, barrier_ends(freeze));

	/* The thread does its own freeze, and its retry, within that. */
	md_barrier_dequeue(&ctx->barrier);
	md_barrier_freeze(&ctx->barrier, 1);
	md_barrier_unfreeze(&ctx->barrier);
	nested = md_barrier_get_nested(&ctx->barrier, 0);
	md_barrier_put(&ctx->barrier, token);

	/* A third one waits for the retry. */
	freeze = barrier_start(test, call_freeze, 0, 0);
	KUNIT_EXPECT_TRUE(test, barrier_waits(freeze));
	md_barrier_put(&ctx->barrier, nested);
	KUNIT_EXPECT_TRUE(test, barrier_ends(freeze));
	md_barrier_unfreeze(&ctx->barrier);
	md_barrier_unfreeze(&ctx->barrier);

	/* To drain is to wait for what is queued, too. */
	token = md_barrier_get(&ctx->barrier, 0, class);
	md_barrier_queue(&ctx->barrier, &token, 0);
	freeze = barrier_start(test, call_drain, 0, 0);
	KUNIT_EXPECT_TRUE(test, barrier_waits(freeze));
	md_barrier_dequeue(&ctx->barrier);
	nested = md_barrier_get_nested(&ctx->barrier, 0);
	md_barrier_put(&ctx->barrier, token);
	KUNIT_EXPECT_TRUE(test, barrier_waits(freeze));
	md_barrier_put(&ctx->barrier, nested);
	KUNIT_ASSERT_TRUE(test, barrier_ends(freeze));
	md_barrier_unfreeze(&ctx->barrier);
}

static void barrier_retries(struct kunit *test)
{
	barrier_retry(test, MD_BARRIER_SHARED);
	barrier_retry(test, MD_BARRIER_EXCLUSIVE);
	ssleep(2);
	barrier_retry(test, MD_BARRIER_EXCLUSIVE);
}

/* While one waits for the I/O that the array's thread is at, that may freeze. */
static void barrier_freeze_in_freeze(struct kunit *test)
{
	struct barrier_ctx *ctx = test->priv;
	struct barrier_call *freeze, *get;
	unsigned int token;

	token = md_barrier_get(&ctx->barrier, 0, MD_BARRIER_SHARED);
	md_barrier_queue(&ctx->barrier, &token, 0);
	md_barrier_dequeue(&ctx->barrier);

	freeze = barrier_start(test, call_freeze, 0, 0);
	KUNIT_EXPECT_TRUE(test, barrier_waits(freeze));
	md_barrier_freeze(&ctx->barrier, 1);
	md_barrier_unfreeze(&ctx->barrier);

	/* It is counted: the other one still has the array frozen. */
	get = barrier_start(test, call_get, 0, MD_BARRIER_SHARED);
	KUNIT_EXPECT_TRUE(test, barrier_waits(get));
	md_barrier_put(&ctx->barrier, token);
	KUNIT_EXPECT_TRUE(test, barrier_ends(freeze));
	KUNIT_EXPECT_TRUE(test, barrier_waits(get));
	md_barrier_unfreeze(&ctx->barrier);
	KUNIT_EXPECT_TRUE(test, barrier_ends(get));
	md_barrier_put(&ctx->barrier, get->token);
}

/* What is left to the thread that freezes is submitted by it, early or late. */
static void barrier_flushes(struct kunit *test)
{
	struct barrier_ctx *ctx = test->priv;
	struct barrier_call *freeze;
	unsigned int token;
	int i;

	for (i = 0; i < 2; i++) {
		/* Once fast, once slow. */
		token = md_barrier_get(&ctx->barrier, 0, MD_BARRIER_EXCLUSIVE);
		KUNIT_EXPECT_EQ(test, i == 0, token >= MD_BARRIER_FAST);
		spin_lock_irq(&ctx->lock);
		ctx->left[ctx->nr_left++] = token;
		md_barrier_kick(&ctx->barrier);
		spin_unlock_irq(&ctx->lock);
		freeze = barrier_start(test, call_freeze, 0, 0);
		KUNIT_ASSERT_TRUE(test, barrier_ends(freeze));
		md_barrier_unfreeze(&ctx->barrier);

		token = md_barrier_get(&ctx->barrier, 0, MD_BARRIER_EXCLUSIVE);
		freeze = barrier_start(test, call_freeze, 0, 0);
		KUNIT_EXPECT_TRUE(test, barrier_waits(freeze));
		spin_lock_irq(&ctx->lock);
		ctx->left[ctx->nr_left++] = token;
		md_barrier_kick(&ctx->barrier);
		spin_unlock_irq(&ctx->lock);
		KUNIT_ASSERT_TRUE(test, barrier_ends(freeze));
		md_barrier_unfreeze(&ctx->barrier);
	}
}

static void barrier_resync(struct kunit *test)
{
	struct barrier_ctx *ctx = test->priv;
	sector_t elsewhere = barrier_elsewhere(ctx);
	struct barrier_call *begin, *get, *raise, *end;
	unsigned int token, shared;

	/* The first one waits for what has come in fast, and is exclusive. */
	token = md_barrier_get(&ctx->barrier, 0, MD_BARRIER_EXCLUSIVE);
	shared = md_barrier_get(&ctx->barrier, 0, MD_BARRIER_SHARED);
	begin = barrier_start(test, call_resync_begin, 0, 0);
	KUNIT_EXPECT_TRUE(test, barrier_waits(begin));
	md_barrier_put(&ctx->barrier, token);
	KUNIT_ASSERT_TRUE(test, barrier_ends(begin));
	KUNIT_EXPECT_EQ(test, 0, begin->err);

	/* A request waits for I/O in its bucket. */
	token = md_barrier_get(&ctx->barrier, 0, MD_BARRIER_EXCLUSIVE);
	KUNIT_EXPECT_LT(test, token, MD_BARRIER_FAST);
	KUNIT_EXPECT_EQ(test, 0, md_barrier_raise(&ctx->barrier, elsewhere));
	raise = barrier_start(test, call_raise, 0, 0);
	KUNIT_EXPECT_TRUE(test, barrier_waits(raise));
	md_barrier_put(&ctx->barrier, token);
	KUNIT_ASSERT_TRUE(test, barrier_ends(raise));
	KUNIT_EXPECT_EQ(test, 0, raise->err);

	/* I/O waits for the requests in its bucket, all of them, and for no others. */
	md_barrier_raise_more(&ctx->barrier, 0);
	get = barrier_start(test, call_get, 0, MD_BARRIER_EXCLUSIVE);
	KUNIT_EXPECT_TRUE(test, barrier_waits(get));
	md_barrier_lower(&ctx->barrier, elsewhere);
	md_barrier_lower(&ctx->barrier, 0);
	KUNIT_EXPECT_TRUE(test, barrier_waits(get));
	KUNIT_EXPECT_TRUE(test, md_barrier_has_waiters(&ctx->barrier, 0));
	KUNIT_EXPECT_FALSE(test, md_barrier_has_waiters(&ctx->barrier, elsewhere));
	token = md_barrier_get(&ctx->barrier, elsewhere, MD_BARRIER_EXCLUSIVE);
	md_barrier_put(&ctx->barrier, token);

	/* Who waits comes first, before the next request. */
	raise = barrier_start(test, call_raise, 0, 0);
	KUNIT_EXPECT_TRUE(test, barrier_waits(raise));
	md_barrier_lower(&ctx->barrier, 0);
	KUNIT_EXPECT_TRUE(test, barrier_ends(get));
	KUNIT_EXPECT_TRUE(test, barrier_waits(raise));
	md_barrier_put(&ctx->barrier, get->token);
	KUNIT_ASSERT_TRUE(test, barrier_ends(raise));

	/* The class that does not care is fast all the time. */
	token = md_barrier_get(&ctx->barrier, 0, MD_BARRIER_SHARED);
	KUNIT_EXPECT_EQ(test, token, MD_BARRIER_FAST + MD_BARRIER_SHARED);
	md_barrier_put(&ctx->barrier, token);
	md_barrier_put(&ctx->barrier, shared);

	end = barrier_start(test, call_resync_end, 0, 0);
	KUNIT_EXPECT_TRUE(test, barrier_waits(end));
	md_barrier_lower(&ctx->barrier, 0);
	KUNIT_ASSERT_TRUE(test, barrier_ends(end));
	ssleep(2);
	barrier_is_fast(test);
}

static void barrier_resync_depth(struct kunit *test)
{
	struct barrier_ctx *ctx = test->priv;
	struct barrier_call *raise;
	int i;

	KUNIT_ASSERT_EQ(test, 0, md_barrier_resync_begin(&ctx->barrier));
	for (i = 0; i < DEPTH - 1; i++)
		KUNIT_ASSERT_EQ(test, 0, md_barrier_raise(&ctx->barrier, 0));
	raise = barrier_start(test, call_raise, 0, 0);
	KUNIT_EXPECT_TRUE(test, barrier_waits(raise));
	md_barrier_lower(&ctx->barrier, 0);
	KUNIT_ASSERT_TRUE(test, barrier_ends(raise));

	/* Two above the limit: it takes three to let the next one in. */
	md_barrier_raise_more(&ctx->barrier, 0);
	md_barrier_raise_more(&ctx->barrier, 0);
	raise = barrier_start(test, call_raise, 0, 0);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_TRUE(test, barrier_waits(raise));
		md_barrier_lower(&ctx->barrier, 0);
	}
	KUNIT_ASSERT_TRUE(test, barrier_ends(raise));
	for (i = 0; i < DEPTH - 1; i++)
		md_barrier_lower(&ctx->barrier, 0);
	md_barrier_resync_end(&ctx->barrier);
}

/* A resync that is told to stop does not wait for I/O, whatever it waits for. */
static void barrier_resync_interrupted(struct kunit *test)
{
	struct barrier_ctx *ctx = test->priv;
	struct barrier_call *call, *get;
	unsigned int token;

	token = md_barrier_get(&ctx->barrier, 0, MD_BARRIER_EXCLUSIVE);
	call = barrier_start(test, call_resync_begin, 0, 0);
	KUNIT_EXPECT_TRUE(test, barrier_waits(call));
	set_bit(MD_RECOVERY_INTR, &ctx->mddev.recovery);
	wake_up(&ctx->barrier.wait);
	KUNIT_ASSERT_TRUE(test, barrier_ends(call));
	KUNIT_EXPECT_EQ(test, -EINTR, call->err);
	md_barrier_put(&ctx->barrier, token);
	clear_bit(MD_RECOVERY_INTR, &ctx->mddev.recovery);

	KUNIT_ASSERT_EQ(test, 0, md_barrier_resync_begin(&ctx->barrier));
	token = md_barrier_get(&ctx->barrier, 0, MD_BARRIER_EXCLUSIVE);
	call = barrier_start(test, call_raise, 0, 0);
	KUNIT_EXPECT_TRUE(test, barrier_waits(call));
	get = barrier_start(test, call_get, 0, MD_BARRIER_EXCLUSIVE);
	KUNIT_EXPECT_TRUE(test, barrier_waits(get));
	set_bit(MD_RECOVERY_INTR, &ctx->mddev.recovery);
	wake_up(&ctx->barrier.wait);
	KUNIT_ASSERT_TRUE(test, barrier_ends(call));
	KUNIT_EXPECT_EQ(test, -EINTR, call->err);
	/* What has waited for it does not any more. */
	KUNIT_ASSERT_TRUE(test, barrier_ends(get));
	md_barrier_put(&ctx->barrier, get->token);
	md_barrier_put(&ctx->barrier, token);
	md_barrier_resync_end(&ctx->barrier);
}

static void barrier_resync_and_freeze(struct kunit *test)
{
	struct barrier_ctx *ctx = test->priv;
	struct barrier_call *freeze, *raise;

	/* The freeze waits for a request, but not if that is queued. */
	KUNIT_ASSERT_EQ(test, 0, md_barrier_resync_begin(&ctx->barrier));
	KUNIT_ASSERT_EQ(test, 0, md_barrier_raise(&ctx->barrier, 0));
	freeze = barrier_start(test, call_freeze, 0, 0);
	KUNIT_EXPECT_TRUE(test, barrier_waits(freeze));
	raise = barrier_start(test, call_raise, 0, 0);
	KUNIT_EXPECT_TRUE(test, barrier_waits(raise));
	md_barrier_queue(&ctx->barrier, NULL, 0);
	KUNIT_ASSERT_TRUE(test, barrier_ends(freeze));
	KUNIT_EXPECT_TRUE(test, barrier_waits(raise));
	md_barrier_dequeue(&ctx->barrier);
	md_barrier_lower(&ctx->barrier, 0);
	md_barrier_unfreeze(&ctx->barrier);
	KUNIT_ASSERT_TRUE(test, barrier_ends(raise));
	md_barrier_lower(&ctx->barrier, 0);

	/* Still slow for the resync when the freeze has long ended. */
	ssleep(2);
	KUNIT_EXPECT_EQ(test, MD_PENDING_ATOMIC,
			md_pending_mode(&ctx->barrier.count[MD_BARRIER_EXCLUSIVE]));
	KUNIT_EXPECT_EQ(test, MD_PENDING_PERCPU,
			md_pending_mode(&ctx->barrier.count[MD_BARRIER_SHARED]));
	md_barrier_resync_end(&ctx->barrier);
}

/* A user waits for something of its own, while the resync does not pause. */
static void barrier_wakes_users(struct kunit *test)
{
	struct barrier_ctx *ctx = test->priv;
	struct barrier_call *wait;

	KUNIT_ASSERT_EQ(test, 0, md_barrier_resync_begin(&ctx->barrier));
	KUNIT_ASSERT_EQ(test, 0, md_barrier_raise(&ctx->barrier, 0));
	KUNIT_ASSERT_EQ(test, 0, md_barrier_raise(&ctx->barrier, 0));
	wait = barrier_start(test, call_wait, 0, 0);
	KUNIT_EXPECT_TRUE(test, barrier_waits(wait));
	atomic_set(&ctx->flushed, 1);
	md_barrier_lower(&ctx->barrier, 0);
	md_barrier_wake(&ctx->barrier);
	KUNIT_ASSERT_TRUE(test, barrier_ends(wait));
	md_barrier_lower(&ctx->barrier, 0);
	md_barrier_resync_end(&ctx->barrier);
}

static void barrier_exit_waits(struct kunit *test)
{
	struct barrier_ctx *ctx = test->priv;
	struct barrier_call *exit;
	struct md_barrier unused = {};
	unsigned int token, nested;

	md_barrier_exit(&unused);
	token = md_barrier_get(&ctx->barrier, 0, MD_BARRIER_SHARED);
	nested = md_barrier_get_nested(&ctx->barrier, 0);
	exit = barrier_start(test, call_exit, 0, 0);
	KUNIT_EXPECT_TRUE(test, barrier_waits(exit));
	md_barrier_put(&ctx->barrier, token);
	KUNIT_EXPECT_TRUE(test, barrier_waits(exit));
	md_barrier_put(&ctx->barrier, nested);
	KUNIT_ASSERT_TRUE(test, barrier_ends(exit));
	/* Twice is once: barrier_exit() does it again. */
}

/*
 * All of it under load. Each I/O looks whether somebody is at work who should
 * keep it out; some are queued for the array's thread, which freezes and goes on
 * with them.
 */
#define LOAD_SECONDS	10
#define LOAD_UNITS	4

struct barrier_load {
	struct barrier_ctx	*ctx;
	atomic_t		frozen;		/* by the array's thread */
	atomic_t		drained;	/* by somebody else */
	bool			resyncing[LOAD_UNITS];
	atomic_t		requests_at_work;
	atomic_t		at_work;	/* I/Os, retries too */
	spinlock_t		lock;
	unsigned int		queue[64];
	sector_t		queue_sector[64];
	int			queue_len;
	atomic_t		intruders;
	atomic_long_t		ios;
	atomic_long_t		retries;
	atomic_long_t		freezes;
	atomic_long_t		requests;
	struct task_struct	*daemon;
};

static void load_look(struct barrier_load *load, enum md_barrier_class class,
		      int unit)
{
	if (atomic_read(&load->frozen) || atomic_read(&load->drained))
		atomic_inc(&load->intruders);
	if (class == MD_BARRIER_EXCLUSIVE && READ_ONCE(load->resyncing[unit]))
		atomic_inc(&load->intruders);
}

/* Somebody has everything to himself, for a moment. */
static void load_alone(struct barrier_load *load, atomic_t *how)
{
	int i;

	atomic_inc(how);
	for (i = 0; i < 2; i++) {
		if (atomic_read(&load->at_work) ||
		    atomic_read(&load->requests_at_work))
			atomic_inc(&load->intruders);
		cpu_relax();
	}
	atomic_dec(how);
}

static int load_io(void *data)
{
	struct barrier_load *load = data;
	struct md_barrier *barrier = &load->ctx->barrier;
	unsigned int n = 0;

	while (!kthread_should_stop()) {
		enum md_barrier_class class = n & 1;
		int unit = n / 2 % LOAD_UNITS;
		sector_t sector = (sector_t)unit << MD_BARRIER_UNIT_BITS;
		unsigned int token = md_barrier_get(barrier, sector, class);
		bool queued = false;

		atomic_inc(&load->at_work);
		load_look(load, class, unit);
		udelay(1);
		load_look(load, class, unit);
		atomic_dec(&load->at_work);
		if (++n % 64 == 0) {
			spin_lock_irq(&load->lock);
			queued = load->queue_len < ARRAY_SIZE(load->queue);
			if (queued) {
				md_barrier_queue(barrier, &token, sector);
				load->queue[load->queue_len] = token;
				load->queue_sector[load->queue_len++] = sector;
			}
			spin_unlock_irq(&load->lock);
			if (queued)
				wake_up_process(load->daemon);
		}
		if (!queued)
			md_barrier_put(barrier, token);
		atomic_long_inc(&load->ios);
		cond_resched();
	}
	return 0;
}

/* Does not stop as long as something is queued. */
static int load_daemon(void *data)
{
	struct barrier_load *load = data;
	struct md_barrier *barrier = &load->ctx->barrier;
	unsigned int token, nested;
	bool found, stop;
	sector_t sector;

	do {
		stop = kthread_should_stop();
		spin_lock_irq(&load->lock);
		found = load->queue_len;
		if (found) {
			token = load->queue[--load->queue_len];
			sector = load->queue_sector[load->queue_len];
			md_barrier_dequeue(barrier);
		}
		spin_unlock_irq(&load->lock);
		if (!found) {
			schedule_timeout_interruptible(1);
			continue;
		}
		md_barrier_freeze(barrier, 1);
		load_alone(load, &load->frozen);
		md_barrier_unfreeze(barrier);
		nested = md_barrier_get_nested(barrier, sector);
		md_barrier_put(barrier, token);
		/* Not kept out by a freeze, but by a drain. */
		if (atomic_read(&load->drained))
			atomic_inc(&load->intruders);
		md_barrier_put(barrier, nested);
		atomic_long_inc(&load->retries);
	} while (found || !stop);
	return 0;
}

static int load_freeze(void *data)
{
	struct barrier_load *load = data;

	while (!kthread_should_stop()) {
		md_barrier_drain(&load->ctx->barrier);
		load_alone(load, &load->drained);
		md_barrier_unfreeze(&load->ctx->barrier);
		atomic_long_inc(&load->freezes);
		/* Now and then so long that everything gets fast in between. */
		schedule_timeout_interruptible(atomic_long_read(&load->freezes) % 8 ?
					       1 : 3 * HZ / 2);
	}
	return 0;
}

static int load_resync(void *data)
{
	struct barrier_load *load = data;
	struct md_barrier *barrier = &load->ctx->barrier;
	sector_t sector;
	int i, unit;

	while (!kthread_should_stop()) {
		if (md_barrier_resync_begin(barrier))
			continue;
		for (i = 0; i < 200; i++) {
			unit = i % LOAD_UNITS;
			sector = (sector_t)unit << MD_BARRIER_UNIT_BITS;
			if (md_barrier_raise(barrier, sector))
				continue;
			atomic_inc(&load->requests_at_work);
			WRITE_ONCE(load->resyncing[unit], true);
			if (i & 1)
				md_barrier_raise_more(barrier, sector);
			udelay(5);
			WRITE_ONCE(load->resyncing[unit], false);
			atomic_dec(&load->requests_at_work);
			if (i & 1)
				md_barrier_lower(barrier, sector);
			md_barrier_lower(barrier, sector);
			atomic_long_inc(&load->requests);
			cond_resched();
		}
		md_barrier_resync_end(barrier);
		schedule_timeout_interruptible(3 * HZ / 2);
	}
	return 0;
}

static void barrier_under_load(struct kunit *test)
{
	struct barrier_load *load = kunit_kzalloc(test, sizeof(*load), GFP_KERNEL);
	struct task_struct *task[8];
	int n = 0, i;

	KUNIT_ASSERT_NOT_NULL(test, load);
	load->ctx = test->priv;
	spin_lock_init(&load->lock);
	load->daemon = kthread_create(load_daemon, load, "md_barrier_d");
	KUNIT_ASSERT_FALSE(test, IS_ERR(load->daemon));
	wake_up_process(load->daemon);
	for (i = 0; i < ARRAY_SIZE(task); i++) {
		task[n] = kthread_run(i == 0 ? load_freeze :
				      i == 1 ? load_resync : load_io, load,
				      "md_barrier/%d", i);
		if (!IS_ERR(task[n]))
			n++;
	}
	KUNIT_EXPECT_EQ(test, n, ARRAY_SIZE(task));
	ssleep(LOAD_SECONDS);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ(test, 0, kthread_stop(task[i]));
	kthread_stop(load->daemon);

	KUNIT_EXPECT_EQ(test, 0, atomic_read(&load->intruders));
	KUNIT_EXPECT_GT(test, atomic_long_read(&load->ios), 1000);
	KUNIT_EXPECT_GT(test, atomic_long_read(&load->retries), 10);
	KUNIT_EXPECT_GT(test, atomic_long_read(&load->freezes), 5);
	KUNIT_EXPECT_GT(test, atomic_long_read(&load->requests), 100);
	kunit_info(test, "%ld I/Os, %ld retries, %ld freezes, %ld requests of a resync\n",
		   atomic_long_read(&load->ios), atomic_long_read(&load->retries),
		   atomic_long_read(&load->freezes),
		   atomic_long_read(&load->requests));
}

static struct kunit_case barrier_cases[] = {
	KUNIT_CASE(barrier_is_fast),
	KUNIT_CASE_SLOW(barrier_freeze_waits),
	KUNIT_CASE_SLOW(barrier_lingers),
	KUNIT_CASE_SLOW(barrier_retries),
	KUNIT_CASE(barrier_freeze_in_freeze),
	KUNIT_CASE(barrier_flushes),
	KUNIT_CASE_SLOW(barrier_resync),
	KUNIT_CASE(barrier_resync_depth),
	KUNIT_CASE(barrier_resync_interrupted),
	KUNIT_CASE_SLOW(barrier_resync_and_freeze),
	KUNIT_CASE(barrier_wakes_users),
	KUNIT_CASE(barrier_exit_waits),
	KUNIT_CASE_SLOW(barrier_under_load),
	{}
};

static struct kunit_suite barrier_suite = {
	.name = "md_barrier",
	.init = barrier_init,
	.exit = barrier_exit,
	.test_cases = barrier_cases,
};

kunit_test_suite(barrier_suite);

MODULE_DESCRIPTION("KUnit tests of md-barrier");
MODULE_LICENSE("GPL");
