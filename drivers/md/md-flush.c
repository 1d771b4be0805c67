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
 * array can do without the member, the flush has succeeded once the metadata
 * tells so: not earlier, as after a crash the member would be read from. It
 * is the same for a member that failed before, or otherwise. If the array
 * cannot do without it, or has no redundancy, the bio ends with the error.
 */
#include <linux/blkdev.h>
#include <linux/rculist.h>
#include <linux/workqueue.h>

#include "md.h"

#define CREATE_TRACE_POINTS
#include <trace/events/md_flush.h>

/* How many flushes there can be if there is no memory. */
#define MD_FLUSH_MIN	4

/* The flush of an array: a bio with REQ_PREFLUSH. */
struct md_flush {
	struct mddev		*mddev;
	struct bio		*bio;
	/* The member to go on with, referenced: there was no memory. */
	struct md_rdev		*next;
	/* Flushes of members that have not ended, and one for the sender. */
	atomic_t		pending;
	blk_status_t		status;
	struct work_struct	work;
};

/* The flush of a member. */
struct md_flush_bio {
	struct md_flush		*flush;
	struct md_rdev		*rdev;
	struct bio		bio;
};

/**
 * md_flush_init - prepare an array for flushes
 * @mddev: the array; may have been prepared already
 *
 * May sleep. To be undone by md_flush_exit(), also after an error.
 *
 * Return: 0, or -ENOMEM.
 */
int md_flush_init(struct mddev *mddev)
{
	struct md_flush_pool *pool = &mddev->flush;
	int err;

	if (pool->wq)
		return 0;

	if (!mempool_initialized(&pool->flushes)) {
		err = mempool_init_kmalloc_pool(&pool->flushes, MD_FLUSH_MIN,
						sizeof(struct md_flush));
		if (err)
			return err;
	}
	if (!bioset_initialized(&pool->bios)) {
		err = bioset_init(&pool->bios, MD_FLUSH_MIN,
				  offsetof(struct md_flush_bio, bio), 0);
		if (err)
			return err;
	}
	pool->wq = alloc_workqueue("%s_flush", WQ_MEM_RECLAIM | WQ_PERCPU, 0,
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
	bioset_exit(&pool->bios);
	mempool_exit(&pool->flushes);
}

/**
 * md_flush_drain - wait until no flush uses an array that is being stopped
 * @mddev: the array, whose last bio has ended
 *
 * What has sent the data of that bio may not have returned. May sleep.
 */
void md_flush_drain(struct mddev *mddev)
{
	if (mddev->flush.wq)
		flush_workqueue(mddev->flush.wq);
}

/*
 * The member after @rdev, or the first one, that has to be flushed, with a
 * reference. The caller holds active_io: members do not leave their slots.
 */
static struct md_rdev *md_flush_next(struct mddev *mddev, struct md_rdev *rdev)
{
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

/*
 * A member that has failed while the metadata on the others does not tell it.
 * The caller holds active_io.
 */
static struct md_rdev *md_flush_unrecorded(struct mddev *mddev)
{
	struct md_rdev *rdev;

	guard(rcu)();
	list_for_each_entry_rcu(rdev, &mddev->disks, same_set) {
		/* Blocked is set before Faulty, and cleared when it is told. */
		if (rdev->raid_disk >= 0 && test_bit(Faulty, &rdev->flags) &&
		    test_bit(Blocked, &rdev->flags))
			return rdev;
	}
	return NULL;
}

static void md_flush_queue(struct md_flush *flush, work_func_t fn)
{
	INIT_WORK(&flush->work, fn);
	queue_work(flush->mddev->flush.wq, &flush->work);
}

/* The data, as a bio of its own. */
static void md_flush_data_work(struct work_struct *work)
{
	struct md_flush *flush = container_of(work, struct md_flush, work);
	struct mddev *mddev = flush->mddev;
	struct bio *bio = flush->bio;

	mempool_free(flush, &mddev->flush.flushes);
	/* This thread may wait for the submitter. */
	bio->bi_opf &= ~(REQ_PREFLUSH | REQ_NOWAIT);
	/* Only device-mapper gets false, and that sends no data with a flush. */
	if (!md_handle_request(mddev, bio))
		bio_io_error(bio);
}

/*
 * Every member is flushed. active_io is let go before anything else may wait:
 * the data takes it anew, or waits for the end of a suspend without it.
 */
static void md_flush_end(struct md_flush *flush)
{
	struct mddev *mddev = flush->mddev;
	struct bio *bio = flush->bio;

	trace_md_flush_end(mddev, bio, flush->status);
	/* The array can be gone as soon as its last bio has ended. */
	percpu_ref_put(&mddev->active_io);
	if (bio_sectors(bio) && !flush->status) {
		md_flush_queue(flush, md_flush_data_work);
		return;
	}

	if (flush->status)
		bio->bi_status = flush->status;
	mempool_free(flush, &mddev->flush.flushes);
	bio_endio(bio);
}

static void md_flush_record_work(struct work_struct *work)
{
	struct md_flush *flush = container_of(work, struct md_flush, work);
	struct mddev *mddev = flush->mddev;
	struct md_rdev *rdev;

	while ((rdev = md_flush_unrecorded(mddev))) {
		rdev_inc_pending(rdev);
		md_wait_for_blocked_rdev(rdev, mddev);
		if (test_bit(MD_BROKEN, &mddev->flags)) {
			/* Nothing will be recorded any more. */
			flush->status = BLK_STS_IOERR;
			break;
		}
	}
	md_flush_end(flush);
}

/* One of those that @flush waits for has ended. */
static void md_flush_put(struct md_flush *flush)
{
	/*
	 * A: what the others have found, before the last one looks at it. Pairs
	 * with itself. tests/litmus: md-flush-status-vs-last.
	 */
	if (!atomic_dec_and_test(&flush->pending))
		return;

	if (unlikely(!flush->status && md_flush_unrecorded(flush->mddev)))
		md_flush_queue(flush, md_flush_record_work);
	else
		md_flush_end(flush);
}

/* The cache of @rdev is lost, or may be. */
static void md_flush_failed(struct md_flush *flush, struct md_rdev *rdev,
			    blk_status_t status)
{
	struct mddev *mddev = flush->mddev;

	pr_err_ratelimited("md: %s: flush of %pg failed, error %d\n",
			   mdname(mddev), rdev->bdev,
			   blk_status_to_errno(status));
	/* raid0 and linear would refuse all writes from now on. */
	if (mddev->pers->sync_request)
		md_error(mddev, rdev);
	if (!test_bit(Faulty, &rdev->flags) ||
	    test_bit(MD_BROKEN, &mddev->flags))
		WRITE_ONCE(flush->status, status);
}

static void md_flush_end_io(struct bio *bio)
{
	struct md_flush_bio *fbio = container_of(bio, struct md_flush_bio, bio);
	struct md_flush *flush = fbio->flush;
	struct md_rdev *rdev = fbio->rdev;
	blk_status_t status = bio->bi_status;

	trace_md_flush_member(flush->mddev, rdev, status);
	bio_put(bio);
	if (unlikely(status))
		md_flush_failed(flush, rdev, status);
	rdev_dec_pending(rdev, flush->mddev);
	md_flush_put(flush);
}

static void md_flush_more_work(struct work_struct *work);

/* Flush @rdev, which is referenced, and the members after it. */
static void md_flush_send(struct md_flush *flush, struct md_rdev *rdev,
			  gfp_t gfp)
{
	struct mddev *mddev = flush->mddev;
	struct md_flush_bio *fbio;
	struct md_rdev *next;
	struct bio *bio;

	for (; rdev; rdev = next) {
		bio = bio_alloc_bioset(rdev->bdev, 0,
				       REQ_OP_WRITE | REQ_PREFLUSH, gfp,
				       &mddev->flush.bios);
		if (!bio) {
			flush->next = rdev;
			md_flush_queue(flush, md_flush_more_work);
			return;
		}
		fbio = container_of(bio, struct md_flush_bio, bio);
		fbio->flush = flush;
		fbio->rdev = rdev;
		bio->bi_end_io = md_flush_end_io;
		bio_clone_blkg_association(bio, flush->bio);
		atomic_inc(&flush->pending);
		next = md_flush_next(mddev, rdev);
		submit_bio(bio);
	}
	md_flush_put(flush);
}

/*
 * Bios that a submitter sends stay with it until its make_request() returns:
 * it must not wait for another one. Here each is on its way when the next one
 * is allocated, and comes back.
 */
static void md_flush_more_work(struct work_struct *work)
{
	struct md_flush *flush = container_of(work, struct md_flush, work);

	md_flush_send(flush, flush->next, GFP_NOIO);
}

/**
 * md_flush_request - flush an array for a bio
 * @mddev: the array
 * @bio: a bio with REQ_PREFLUSH that the array has been sent
 *
 * To be called by make_request(), with active_io held; may sleep, but for a
 * REQ_NOWAIT bio. If any member has a volatile cache, @bio is taken over: it
 * comes back through make_request() when all of them are flushed, without
 * REQ_PREFLUSH, or ends if there is no data in it. @bio then holds active_io,
 * and each flush in flight a reference to its member.
 *
 * Return: true if @bio is taken care of; false if the caller is to go on with
 * it: it has data, and REQ_PREFLUSH is done and cleared.
 */
bool md_flush_request(struct mddev *mddev, struct bio *bio)
{
	struct md_rdev *rdev = md_flush_next(mddev, NULL);
	struct md_flush *flush;

	/* What has failed may have had the only volatile cache. */
	if (!rdev && likely(!md_flush_unrecorded(mddev))) {
		bio->bi_opf &= ~REQ_PREFLUSH;
		if (bio_sectors(bio))
			return false;
		bio_endio(bio);
		return true;
	}

	flush = mempool_alloc(&mddev->flush.flushes,
			      bio->bi_opf & REQ_NOWAIT ? GFP_NOWAIT : GFP_NOIO);
	if (!flush) {
		if (rdev)
			rdev_dec_pending(rdev, mddev);
		bio_wouldblock_error(bio);
		return true;
	}
	flush->mddev = mddev;
	flush->bio = bio;
	flush->status = BLK_STS_OK;
	atomic_set(&flush->pending, 1);
	percpu_ref_get(&mddev->active_io);
	trace_md_flush_start(mddev, bio);
	md_flush_send(flush, rdev, GFP_NOWAIT);
	return true;
}
EXPORT_SYMBOL_GPL(md_flush_request);
