/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM md

#if !defined(_TRACE_MD_FLUSH_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_MD_FLUSH_H

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/kdev_t.h>
#include <linux/tracepoint.h>

struct mddev;
struct md_rdev;

/**
 * md_flush_start - the flush of an array begins
 * @mddev: the array
 * @bio: for which bio; without sectors, it is nothing but a flush
 */
TRACE_EVENT(md_flush_start,
	    TP_PROTO(struct mddev *mddev, struct bio *bio),
	    TP_ARGS(mddev, bio),
	    TP_STRUCT__entry(__field(dev_t,	dev)
			     __field(sector_t,	sector)
			     __field(unsigned int, nr_sector)
	    ),
	    TP_fast_assign(__entry->dev = mddev->unit;
			   __entry->sector = bio->bi_iter.bi_sector;
			   __entry->nr_sector = bio_sectors(bio);
	    ),
	    TP_printk("%d,%d %llu + %u", MAJOR(__entry->dev),
		      MINOR(__entry->dev), (unsigned long long)__entry->sector,
		      __entry->nr_sector)
);

/**
 * md_flush_member - the flush of a member has ended
 * @mddev: the array
 * @rdev: the member
 * @status: how
 */
TRACE_EVENT(md_flush_member,
	    TP_PROTO(struct mddev *mddev, struct md_rdev *rdev,
		     blk_status_t status),
	    TP_ARGS(mddev, rdev, status),
	    TP_STRUCT__entry(__field(dev_t,	dev)
			     __field(dev_t,	member)
			     __field(int,	error)
	    ),
	    TP_fast_assign(__entry->dev = mddev->unit;
			   __entry->member = rdev->bdev->bd_dev;
			   __entry->error = blk_status_to_errno(status);
	    ),
	    TP_printk("%d,%d member %d,%d error %d", MAJOR(__entry->dev),
		      MINOR(__entry->dev), MAJOR(__entry->member),
		      MINOR(__entry->member), __entry->error)
);

/**
 * md_flush_end - the flush of an array has ended; its data goes on
 * @mddev: the array
 * @bio: for which bio
 * @status: how; if not BLK_STS_OK, the data does not go on
 */
TRACE_EVENT(md_flush_end,
	    TP_PROTO(struct mddev *mddev, struct bio *bio,
		     blk_status_t status),
	    TP_ARGS(mddev, bio, status),
	    TP_STRUCT__entry(__field(dev_t,	dev)
			     __field(sector_t,	sector)
			     __field(unsigned int, nr_sector)
			     __field(int,	error)
	    ),
	    TP_fast_assign(__entry->dev = mddev->unit;
			   __entry->sector = bio->bi_iter.bi_sector;
			   __entry->nr_sector = bio_sectors(bio);
			   __entry->error = blk_status_to_errno(status);
	    ),
	    TP_printk("%d,%d %llu + %u error %d", MAJOR(__entry->dev),
		      MINOR(__entry->dev), (unsigned long long)__entry->sector,
		      __entry->nr_sector, __entry->error)
);

#endif /* _TRACE_MD_FLUSH_H */

#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE md_flush
#include <trace/define_trace.h>
