// SPDX-License-Identifier: GPL-2.0-only
/*
 * The flush of an array.
 *
 * REQ_PREFLUSH promises that what had been written when the bio came is on
 * stable media before the bio's own data is: a journal's commit record relies
 * on that (Documentation/block/writeback_cache_control.rst). So each member
 * with a volatile cache is sent a flush, all at once, and the data goes on when
 * the last of them has ended. Nothing is shared between two flushes of an
 * array; merging them is up to the members, which see them all.
 *
 * A flush that fails says that what its member has acknowledged may be lost. So
 * it is a failure of that member, as a failed write of the metadata is. If the
 * array can do without the member, the flush succeeds, but only when the
 * metadata of the others records the failure: after a crash before that, the
 * member would be read from. The same holds if the member has failed before, or
 * for another reason. If the array cannot do without the member, or has no
 * redundancy, the bio ends with the error.
 */
#include <linux/blkdev.h>
#include <linux/percpu.h>
#include <linux/rculist.h>
#include <linux/workqueue.h>

#include "md.h"

/* How many flushes there can be if there is no memory. */
#define MD_FLUSH_MIN	4

/* The flush of an array: a bio with REQ_PREFLUSH. */
struct md_flush {
	struct mddev		*mddev;
	struct bio		*bio;
	/* Flushes of members that have not ended, and one for the sender. */
	atomic_t		pending;
	blk_status_t		status;
	struct work_struct	work;
};

/* The flush of a member. */
struct md_flush_member {
	struct md_flush		*flush;
	struct md_rdev		*rdev;
	struct bio		bio;
};

/*
 * Bios that are flushed, whose data goes on. That may sleep: so it is not done
 * by a work that is freed meanwhile, whose address could come back as that of
 * another one, for which this one waits. None waits for one behind it; but if
 * a part of the array is suspended, those behind a bio for that wait as well.
 */
struct md_flush_cpu {
	spinlock_t		lock;	/* of bios; irq-safe */
	struct bio_list		bios;
	struct work_struct	work;
};

static void md_flush_data_work(struct work_struct *work)
{
	struct md_flush_cpu *cpu = container_of(work, struct md_flush_cpu, work);
	struct bio_list bios = BIO_EMPTY_LIST;
	struct bio *bio;

	spin_lock_irq(&cpu->lock);
	bio_list_merge_init(&bios, &cpu->bios);
	spin_unlock_irq(&cpu->lock);

	/* Anew: the array may have been suspended, or be read-only by now. */
	while ((bio = bio_list_pop(&bios)))
		submit_bio_noacct(bio);
}

/**
 * md_flush_init - prepare an array for flushes
 * @mddev: the array, with raid_disks; may have been prepared already
 *
 * May sleep. To be undone by md_flush_exit(), also after an error.
 *
 * Return: 0, or -ENOMEM.
 */
int md_flush_init(struct mddev *mddev)
{
	struct md_flush_pool *pool = &mddev->flush;
	int err, cpu;

	if (pool->wq)
		return 0;

	md_flush_exit(mddev);
	mutex_init(&pool->lock);
	err = mempool_init_kmalloc_pool(&pool->flushes, MD_FLUSH_MIN,
					sizeof(struct md_flush));
	if (err)
		return err;
	/* A member, and its replacement. More, later, rely on the slab. */
	err = bioset_init(&pool->bios, max(2 * mddev->raid_disks, MD_FLUSH_MIN),
			  offsetof(struct md_flush_member, bio), 0);
	if (err)
		return err;
	pool->cpus = alloc_percpu(struct md_flush_cpu);
	if (!pool->cpus)
		return -ENOMEM;
	for_each_possible_cpu(cpu) {
		struct md_flush_cpu *c = per_cpu_ptr(pool->cpus, cpu);

		spin_lock_init(&c->lock);
		bio_list_init(&c->bios);
		INIT_WORK(&c->work, md_flush_data_work);
	}
	pool->wq = alloc_workqueue("%.24s_flush", WQ_MEM_RECLAIM | WQ_PERCPU, 0,
				   mdname(mddev));
	return pool->wq ? 0 : -ENOMEM;
}

/**
 * md_flush_exit - undo md_flush_init()
 * @mddev: the array, which has no I/O
 *
 * May sleep.
 */
void md_flush_exit(struct mddev *mddev)
{
	struct md_flush_pool *pool = &mddev->flush;

	if (pool->wq)
		destroy_workqueue(pool->wq);
	pool->wq = NULL;
	free_percpu(pool->cpus);
	pool->cpus = NULL;
	bioset_exit(&pool->bios);
	mempool_exit(&pool->flushes);
}

/**
 * md_flush_drain - wait until no flush uses an array that is to be stopped
 * @mddev: the array, whose users have closed it, but for the one who stops it
 *
 * A flush holds active_io until its members have ended theirs. And the worker
 * that has sent the data may not have returned when that bio has ended. May
 * sleep; not with reconfig_mutex held, as what is waited for may want the
 * metadata written.
 */
void md_flush_drain(struct mddev *mddev)
{
	if (!mddev->flush.wq)
		return;
	mddev_suspend(mddev, false);
	mddev_resume(mddev);
	flush_workqueue(mddev->flush.wq);
}

/* Whether any member has a volatile cache. */
static bool md_flush_needed(struct mddev *mddev)
{
	struct md_rdev *rdev;

	/* A spare may leave the list. */
	guard(rcu)();
	list_for_each_entry_rcu(rdev, &mddev->disks, same_set)
		if (rdev->raid_disk >= 0 && bdev_write_cache(rdev->bdev))
			return true;
	return false;
}

/* Whether the metadata does not record yet that some member has failed. */
static bool md_flush_unrecorded(struct mddev *mddev)
{
	struct md_rdev *rdev;

	/* No metadata, or none that is md's own. */
	if (mddev_is_dm(mddev) && mddev->external)
		return false;
	/* It may have left its slot since, as Blocked is cleared then. */
	if (test_bit(MD_SB_CHANGE_PENDING, &mddev->sb_flags) &&
	    md_is_rdwr(mddev))
		return true;

	guard(rcu)();
	list_for_each_entry_rcu(rdev, &mddev->disks, same_set)
		/*
		 * B: Blocked is set before Faulty, in the same word, and
		 * cleared when the failure is recorded. tests/litmus:
		 * md-flush-blocked-vs-faulty.
		 */
		if (rdev->raid_disk >= 0 && test_bit(Faulty, &rdev->flags) &&
		    test_bit(Blocked, &rdev->flags))
			return true;
	return false;
}

/* Neither active_io nor a member is referenced any more. */
static void md_flush_end(struct md_flush *flush)
{
	struct md_flush_pool *pool = &flush->mddev->flush;
	blk_status_t status = flush->status;
	struct bio *bio = flush->bio;
	struct md_flush_cpu *cpu;
	unsigned long flags;

	/* The array can be gone as soon as its last bio has ended. */
	mempool_free(flush, &pool->flushes);
	if (!bio_sectors(bio) || status) {
		if (status)
			bio->bi_status = status;
		bio_endio(bio);
		return;
	}

	/* A worker may wait where the submitter must not. */
	bio->bi_opf &= ~(REQ_PREFLUSH | REQ_NOWAIT);
	cpu = raw_cpu_ptr(pool->cpus);
	spin_lock_irqsave(&cpu->lock, flags);
	bio_list_add(&cpu->bios, bio);
	/* With the lock held: as long as @bio is there, so is the array. */
	queue_work(pool->wq, &cpu->work);
	spin_unlock_irqrestore(&cpu->lock, flags);
}

static void md_flush_record_work(struct work_struct *work)
{
	struct md_flush *flush = container_of(work, struct md_flush, work);
	struct mddev *mddev = flush->mddev;

	/* Rare; and nobody wakes up sb_wait after Blocked is cleared. */
	while (!wait_event_timeout(mddev->sb_wait,
				   test_bit(MD_BROKEN, &mddev->flags) ||
				   !md_flush_unrecorded(mddev), HZ / 20))
		;
	if (test_bit(MD_BROKEN, &mddev->flags))
		flush->status = BLK_STS_IOERR;
	md_flush_end(flush);
}

/* One of those that @flush waits for has ended. */
static void md_flush_put(struct md_flush *flush)
{
	struct mddev *mddev = flush->mddev;
	bool unrecorded;

	/*
	 * A: fully ordered, so that the last one sees the status that any of
	 * them has stored. tests/litmus: md-flush-status-vs-last.
	 */
	if (!atomic_dec_and_test(&flush->pending))
		return;

	/* Members that have been skipped may be too many. */
	if (test_bit(MD_BROKEN, &mddev->flags) && !flush->status)
		flush->status = BLK_STS_IOERR;
	unrecorded = !flush->status && md_flush_unrecorded(mddev);
	/* Before anything waits: a suspend must not wait for that. */
	percpu_ref_put(&mddev->active_io);
	if (unlikely(unrecorded)) {
		INIT_WORK(&flush->work, md_flush_record_work);
		queue_work(mddev->flush.wq, &flush->work);
	} else {
		md_flush_end(flush);
	}
}

/* The cache of @rdev is lost, or may be. */
static void md_flush_failed(struct md_flush *flush, struct md_rdev *rdev,
			    blk_status_t status)
{
	struct mddev *mddev = flush->mddev;

	pr_err_ratelimited("md: %s: flush of %pg failed, error %d\n",
			   mdname(mddev), rdev->bdev,
			   blk_status_to_errno(status));
	/* Without redundancy, it would make the array refuse all writes. */
	if (mddev->pers && mddev->pers->sync_request)
		md_error(mddev, rdev);
	if (!test_bit(Faulty, &rdev->flags) ||
	    test_bit(MD_BROKEN, &mddev->flags))
		WRITE_ONCE(flush->status, status);
}

static void md_flush_end_io(struct bio *bio)
{
	struct md_flush_member *member =
		container_of(bio, struct md_flush_member, bio);
	struct md_flush *flush = member->flush;
	struct md_rdev *rdev = member->rdev;
	blk_status_t status = bio->bi_status;

	bio_put(bio);
	if (unlikely(status))
		md_flush_failed(flush, rdev, status);
	rdev_dec_pending(rdev, flush->mddev);
	md_flush_put(flush);
}

/* A flush for @rdev, which it references; or NULL. */
static struct bio *md_flush_alloc_one(struct md_flush *flush,
				      struct md_rdev *rdev, gfp_t gfp)
{
	struct md_flush_member *member;
	struct bio *bio;

	bio = bio_alloc_bioset(rdev->bdev, 0, REQ_OP_WRITE | REQ_PREFLUSH, gfp,
			       &flush->mddev->flush.bios);
	if (!bio)
		return NULL;
	member = container_of(bio, struct md_flush_member, bio);
	member->flush = flush;
	member->rdev = rdev;
	bio->bi_end_io = md_flush_end_io;
	return bio;
}

/* The first member after @rdev, or of all, to be flushed, with a reference. */
static struct md_rdev *md_flush_next(struct mddev *mddev, struct md_rdev *rdev)
{
	/* The head of the list, as the one before the first. */
	if (!rdev)
		rdev = list_entry(&mddev->disks, struct md_rdev, same_set);

	guard(rcu)();
	list_for_each_entry_continue_rcu(rdev, &mddev->disks, same_set) {
		if (rdev->raid_disk >= 0 && !test_bit(Faulty, &rdev->flags) &&
		    bdev_write_cache(rdev->bdev)) {
			rdev_inc_pending(rdev);
			return rdev;
		}
	}
	return NULL;
}

/* Flushes for all members onto @bios; or none, and false. */
static bool md_flush_alloc(struct md_flush *flush, struct bio_list *bios,
			   gfp_t gfp)
{
	struct mddev *mddev = flush->mddev;
	struct md_rdev *rdev = NULL;
	struct bio *bio;

	while ((rdev = md_flush_next(mddev, rdev))) {
		bio = md_flush_alloc_one(flush, rdev, gfp);
		if (!bio)
			goto undo;
		bio_list_add(bios, bio);
	}
	return true;

undo:
	rdev_dec_pending(rdev, mddev);
	while ((bio = bio_list_pop(bios))) {
		rdev = container_of(bio, struct md_flush_member, bio)->rdev;
		rdev_dec_pending(rdev, mddev);
		bio_put(bio);
	}
	return false;
}

/**
 * md_flush_request - flush an array for a bio
 * @mddev: the array
 * @bio: a bio with REQ_PREFLUSH that the array has been sent
 *
 * To be called by make_request(), with active_io held; may sleep, for memory
 * not if @bio has REQ_NOWAIT. If a member has a volatile cache, @bio is taken
 * over: it ends when all of them are flushed, if there is no data in it, or is
 * submitted again without REQ_PREFLUSH. Until they are flushed, active_io is
 * held, and a reference to each member until its flush has ended.
 *
 * Return: true if @bio is taken care of; false if the caller is to go on with
 * it: it has data, and REQ_PREFLUSH is done and cleared.
 */
bool md_flush_request(struct mddev *mddev, struct bio *bio)
{
	struct md_flush_pool *pool = &mddev->flush;
	bool nowait = bio->bi_opf & REQ_NOWAIT;
	struct bio_list bios = BIO_EMPTY_LIST;
	struct md_flush *flush;

	if (!md_flush_needed(mddev) && likely(!md_flush_unrecorded(mddev))) {
		bio->bi_opf &= ~REQ_PREFLUSH;
		if (bio_sectors(bio))
			return false;
		bio_endio(bio);
		return true;
	}

	/*
	 * Whoever has one of these has sent its bios, or waits at the lock, or
	 * for the metadata, whose writer needs none.
	 */
	flush = mempool_alloc(&pool->flushes, nowait ? GFP_NOWAIT : GFP_NOIO);
	if (!flush)
		goto would_block;
	flush->mddev = mddev;
	flush->bio = bio;
	flush->status = BLK_STS_OK;
	/*
	 * What is sent here stays with this task until make_request() returns.
	 * So nobody waits for a bio of the pool who has one already, but for
	 * one at a time, which the pool can serve.
	 */
	if (!md_flush_alloc(flush, &bios, GFP_NOWAIT)) {
		if (nowait) {
			mempool_free(flush, &pool->flushes);
			goto would_block;
		}
		mutex_lock(&pool->lock);
		md_flush_alloc(flush, &bios, GFP_NOIO);
		mutex_unlock(&pool->lock);
	}
	percpu_ref_get(&mddev->active_io);
	atomic_set(&flush->pending, bio_list_size(&bios) + 1);
	while ((bio = bio_list_pop(&bios)))
		submit_bio(bio);
	md_flush_put(flush);
	return true;

would_block:
	bio_wouldblock_error(bio);
	return true;
}
EXPORT_SYMBOL(md_flush_request);
