/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM perf_metagroup

#if !defined(MG_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define MG_TRACE_H

#include <linux/tracepoint.h>

#include "core/group.h"

TRACE_EVENT(perf_metagroup_sweep_begin,
	TP_PROTO(const struct mg_group *group),
	TP_ARGS(group),
	TP_STRUCT__entry(
		__field(const void *, group)
		__field(u32, members)
		__field(u32, cpus)
	),
	TP_fast_assign(
		__entry->group = group;
		__entry->members = group->frames.nr_members;
		__entry->cpus = cpumask_weight(group->cpus.mask);
	),
	TP_printk("group=%p members=%u cpus=%u",
		  __entry->group, __entry->members, __entry->cpus)
);

TRACE_EVENT(perf_metagroup_sweep_end,
	TP_PROTO(const struct mg_group *group, u64 duration),
	TP_ARGS(group, duration),
	TP_STRUCT__entry(
		__field(const void *, group)
		__field(u32, interrupted)
		__field(u64, duration)
	),
	TP_fast_assign(
		__entry->group = group;
		__entry->interrupted = cpumask_weight(group->targets);
		__entry->duration = duration;
	),
	TP_printk("group=%p cpus_interrupted=%u duration_ns=%llu",
		  __entry->group, __entry->interrupted, __entry->duration)
);

#endif /* MG_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH core
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
