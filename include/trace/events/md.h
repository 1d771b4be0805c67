/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM md

#if !defined(_TRACE_MD_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_MD_H

#include <linux/kdev_t.h>
#include <linux/tracepoint.h>

struct md_pending;

#define show_md_pending_mode(mode)				\
	__print_symbolic(mode,					\
			 { MD_PENDING_ATOMIC, "atomic" },	\
			 { MD_PENDING_SWITCHING, "switching" },	\
			 { MD_PENDING_PERCPU, "percpu" })

TRACE_DEFINE_ENUM(MD_PENDING_ATOMIC);
TRACE_DEFINE_ENUM(MD_PENDING_SWITCHING);
TRACE_DEFINE_ENUM(MD_PENDING_PERCPU);

/**
 * md_pending_switch - a counter of pending I/O changes its mode
 * @pending: the counter
 * @from: the mode so far, enum md_pending_mode
 * @to: the mode from now on
 * @ns: how long it took to get there, where that is known, else 0
 *
 * The change from switching to atomic comes from an RCU callback, and its @ns
 * is the time since the switch was asked for.
 */
TRACE_EVENT(md_pending_switch,
	    TP_PROTO(struct md_pending *pending, int from, int to, u64 ns),
	    TP_ARGS(pending, from, to, ns),
	    TP_STRUCT__entry(__field(dev_t,	dev)
			     __string(name,	pending->name)
			     __string(why,	pending->why)
			     __field(int,	from)
			     __field(int,	to)
			     __field(u64,	ns)
	    ),
	    TP_fast_assign(__entry->dev = pending->dev;
			   __assign_str(name);
			   __assign_str(why);
			   __entry->from = from;
			   __entry->to = to;
			   __entry->ns = ns;
	    ),
	    TP_printk("%d,%d %s %s -> %s (%s) %llu ns",
		      MAJOR(__entry->dev), MINOR(__entry->dev),
		      __get_str(name), show_md_pending_mode(__entry->from),
		      show_md_pending_mode(__entry->to), __get_str(why),
		      __entry->ns)
);

#endif /* _TRACE_MD_H */

#include <trace/define_trace.h>
