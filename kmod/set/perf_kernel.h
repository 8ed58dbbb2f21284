/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel events: events of one CPU that the module opens itself. perf has no
 * groups of kernel events, so each is scheduled by itself. They are pinned: each is
 * on the PMU or in ERROR.
 *
 * Before Linux 6.2, events of different PMUs may be on different contexts.
 */
#ifndef MG_PERF_KERNEL_H
#define MG_PERF_KERNEL_H

#include <linux/compiler.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "core/perf_access.h"

/**
 * struct mg_failure - why a set could not be opened
 * @event:	index of the event that caused it, or the number of events
 * @cpu:	CPU of that event, or PERF_METAGROUP_NO_CPU
 * @reason:	PERF_METAGROUP_REASON_*
 */
struct mg_failure {
	u32 event;
	u32 cpu;
	u32 reason;
};

/*
 * Lock the context that @event is on, or was last on. While the lock is held and
 * event->state is above REVOKED, the PMU of @event is registered. Without the lock,
 * event->pmu may become NULL at any time.
 */
static __always_inline struct perf_event_context *mg_event_lock(const struct perf_event *event,
								unsigned long *flags)
{
	struct perf_event_context *ctx = READ_ONCE(event->ctx);

	raw_spin_lock_irqsave(&ctx->lock, *flags);
	while (unlikely(ctx != READ_ONCE(event->ctx))) {
		raw_spin_unlock(&ctx->lock);
		ctx = READ_ONCE(event->ctx);
		raw_spin_lock(&ctx->lock);
	}
	return ctx;
}

static __always_inline void mg_event_unlock(struct perf_event_context *ctx, unsigned long flags)
{
	raw_spin_unlock_irqrestore(&ctx->lock, flags);
}

int mg_kernel_may_open(void);
struct perf_event *mg_kernel_open(struct perf_event_attr *attr, int cpu, u32 *reason);
int mg_kernel_verify(struct perf_event **events, u32 nr_events, int cpu,
		     struct mg_failure *failure);
u32 mg_worse_status(u32 one, u32 other);
bool mg_kernel_counts(const struct perf_event *event, int cpu);
void mg_kernel_leave_closed(struct perf_event **events, u32 nr_events);
bool mg_kernel_is_opened(const struct mg_counter *counter);
u32 mg_kernel_presence(const struct mg_counter *counter);
void mg_kernel_describe(const struct mg_counter *counter, struct mg_event_info *info);
void mg_kernel_plan(struct mg_plan *plan);
int mg_kernel_refresh(const struct mg_plan *plan, struct perf_event_context *ctx, int cpu,
		      u32 *status);

int mg_kernel_init(void);
void mg_kernel_exit(void);

#endif /* MG_PERF_KERNEL_H */
