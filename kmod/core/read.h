/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading one member into a sink.
 *
 * Functions return an enum mg_scope: MG_SCOPE_CPU if only its own CPU can read the
 * member, MG_SCOPE_ANY also if it does not count. Or they return an error, and the
 * record is STALE:
 *
 *   -EBUSY	it counts, and this CPU cannot read it
 *   -EAGAIN	it is being moved, or has been moved, to another CPU
 *   -EMSGSIZE	it has more events than fit into its frame
 *   -ENOSPC	reading it would exceed the budget of a CPU that enters idle
 *   other	an error of its PMU
 */
#ifndef MG_READ_H
#define MG_READ_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "core/member.h"
#include "core/perf_read.h"
#include "core/sink.h"

int mg_update_any(const struct mg_member *member, struct perf_event_context *ctx,
		  int cpu, u32 *status);
void mg_write_shown(const struct mg_member *member, const struct perf_event_context *ctx,
		    u32 status, u64 clock, u64 *shown);
void mg_write_record(struct mg_member *member, const struct mg_sink *sink, u32 status,
		     const struct mg_now *now, const struct perf_event_context *ctx);
int mg_read_any(struct mg_member *member, struct perf_event_context *ctx, int cpu,
		const struct mg_now *now, const struct mg_sink *sink);
int mg_read_failed(struct mg_member *member, const struct mg_now *now,
		   const struct mg_sink *sink, int err);
int mg_read_remote(struct mg_member *member, int cpu, const struct mg_now *now,
		   const struct mg_sink *sink);

/*
 * Read a member of this CPU, interrupts off.
 *
 * The fast path is for the usual member: it counts on this CPU, its plan is current,
 * and its frame has the constants of the plan.
 */
static __always_inline int mg_read_local(struct mg_member *member, int cpu,
					 const struct mg_now *now, const struct mg_sink *sink)
{
	struct perf_metagroup_record *record;
	struct mg_plan *plan = member->plan;
	struct perf_event_context *ctx = mg_plan_lock(plan);
	int ret;

	if (likely(mg_counts_on(plan, cpu) && plan->plain &&
		   mg_plan_is_at(plan, member->written[sink->copy]))) {
		ret = mg_refresh(plan);
		if (likely(!ret)) {
			record = mg_sink_record(sink, member);
			record->status = PERF_METAGROUP_OK;
			record->time = now->mono;
			mg_write_plain(plan, ctx, now->perf, (u64 *)(record + 1));
			ret = MG_SCOPE_CPU;
		} else {
			ret = mg_read_failed(member, now, sink, ret);
		}
	} else {
		ret = mg_read_any(member, ctx, cpu, now, sink);
	}
	mg_plan_unlock(ctx);
	return ret;
}

#endif /* MG_READ_H */
