/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM md

#if !defined(_TRACE_MD_BARRIER_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_MD_BARRIER_H

#include <linux/kdev_t.h>
#include <linux/tracepoint.h>

struct mddev;

/**
 * md_barrier_freeze - an array is frozen now
 * @mddev: the array
 * @extra: how many I/Os the caller has inside
 * @frozen: how many have the array frozen, or want to
 * @ns: how long it took
 *
 * The changes of mode that it may have taken are md_pending_switch.
 */
TRACE_EVENT(md_barrier_freeze,
	    TP_PROTO(struct mddev *mddev, int extra, int frozen, u64 ns),
	    TP_ARGS(mddev, extra, frozen, ns),
	    TP_STRUCT__entry(__field(dev_t,	dev)
			     __field(int,	extra)
			     __field(int,	frozen)
			     __field(u64,	ns)
	    ),
	    TP_fast_assign(__entry->dev = mddev->unit;
			   __entry->extra = extra;
			   __entry->frozen = frozen;
			   __entry->ns = ns;
	    ),
	    TP_printk("%d,%d extra %d frozen %d %llu ns",
		      MAJOR(__entry->dev), MINOR(__entry->dev),
		      __entry->extra, __entry->frozen, __entry->ns)
);

/**
 * md_barrier_unfreeze - one who had an array frozen has done so
 * @mddev: the array
 * @frozen: how many still have it frozen, or want to
 */
TRACE_EVENT(md_barrier_unfreeze,
	    TP_PROTO(struct mddev *mddev, int frozen),
	    TP_ARGS(mddev, frozen),
	    TP_STRUCT__entry(__field(dev_t,	dev)
			     __field(int,	frozen)
	    ),
	    TP_fast_assign(__entry->dev = mddev->unit;
			   __entry->frozen = frozen;
	    ),
	    TP_printk("%d,%d frozen %d", MAJOR(__entry->dev),
		      MINOR(__entry->dev), __entry->frozen)
);

#endif /* _TRACE_MD_BARRIER_H */

#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE md_barrier
#include <trace/define_trace.h>
