/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading one event group from outside kernel/events/core.c.
 *
 * perf_read() takes up to three passes under ctx->mutex: refresh the counters on
 * their CPU, take ctx->lock again, copy. Here it is one pass under ctx->lock
 * alone. docs/locking.md explains why that is enough.
 *
 * This code is executed on each CPU in each sweep, so all functions are inline, and
 * code for rare cases is in perf_access.c. Unless stated otherwise, functions are
 * called with ctx->lock held and interrupts off.
 */
#ifndef MG_PERF_READ_H
#define MG_PERF_READ_H

#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/perf_event.h>
#include <linux/sched/clock.h>
#include <linux/spinlock.h>

#include "compat/perf_event.h"
#include "core/perf_access.h"

/* perf_clock() as CPU @cpu would return it. */
static __always_inline u64 mg_perf_clock(int cpu)
{
	return cpu_clock(cpu);
}

/*
 * Lock the context of a group. Interrupts are off. mg_counts_on() and
 * mg_event_place() show whether it is still the context of the group.
 */
static __always_inline struct perf_event_context *mg_plan_lock(const struct mg_plan *plan)
{
	struct perf_event_context *ctx = READ_ONCE(plan->leader->ctx);

	raw_spin_lock(&ctx->lock);
	return ctx;
}

static __always_inline void mg_plan_unlock(struct perf_event_context *ctx)
{
	raw_spin_unlock(&ctx->lock);
}

static __always_inline bool mg_event_is_active(const struct perf_event *event)
{
	return event->state == PERF_EVENT_STATE_ACTIVE;
}

/*
 * Return true if the group counts on @cpu. If that is this CPU, the group continues
 * to, because interrupts are off, and it is on the context that its ->ctx names:
 * only this CPU stores its number in ->oncpu and replaces it, under the lock of
 * that context.
 */
static __always_inline bool mg_counts_on(const struct mg_plan *plan, int cpu)
{
	return mg_event_is_active(plan->leader) && plan->leader->oncpu == cpu;
}

/*
 * Return true if the group still has @generation. A leader that is detached
 * loses its siblings without a new generation, so @first is compared as well.
 */
static __always_inline bool mg_plan_is_at(const struct mg_plan *plan, u64 generation)
{
	return generation == plan->leader->group_generation &&
	       plan->first == plan->leader->sibling_list.next;
}

/* Make the plan again if the group has changed. Return: 0 or -EMSGSIZE. */
static __always_inline int mg_plan_update(struct mg_plan *plan)
{
	if (likely(mg_plan_is_at(plan, plan->generation)))
		return 0;
	return mg_plan_make(plan, MG_INSTALLED);
}

/**
 * struct mg_times - how long an event was enabled and on the PMU
 * @enabled:	total_time_enabled
 * @running:	total_time_running
 */
struct mg_times {
	u64 enabled;
	u64 running;
};

/*
 * A member is bound to a CPU and not to a task, so it has no children: what
 * perf adds for them (child_count, child_total_time_*) is 0.
 */
static __always_inline struct mg_times mg_plan_times(const struct mg_plan *plan,
						     const struct perf_event_context *ctx,
						     u64 clock)
{
	const struct perf_event *leader = plan->leader;
	struct mg_counter *counter = plan->counter;
	/* A leader's effective state is its own, see __perf_effective_state(). */
	int state = leader->state;
	u64 enabled = leader->total_time_enabled;
	u64 running = leader->total_time_running;
	s64 delta;

	if (likely(state >= PERF_EVENT_STATE_INACTIVE)) {
		/* @clock may be from before the event was enabled. */
		delta = perf_event_time_now(leader, ctx, clock) - leader->tstamp;
		if (likely(delta > 0)) {
			enabled += delta;
			if (likely(state == PERF_EVENT_STATE_ACTIVE))
				running += delta;
		}
	}
	if (unlikely(mg_compat_time_may_go_back(leader))) {
		enabled = max(enabled, counter->shown_enabled);
		running = max(running, counter->shown_running);
		counter->shown_enabled = enabled;
		counter->shown_running = running;
	}
	return (struct mg_times){ .enabled = enabled, .running = running };
}

static __always_inline void mg_write_times(const struct mg_counter *counter,
					   struct mg_times times, u64 *payload)
{
	if (counter->read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		payload[1] = times.enabled;
	if (counter->read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		payload[counter->running_word] = times.running;
}

/*
 * Clocks do not need pmu->read(), which would read the time again for each: their
 * count continues from prev_count as in cpu_clock_event_update() and
 * task_clock_event_update(). An NMI may call either function for the same event and
 * change both words.
 */
static __always_inline void mg_write_clocks(const struct mg_plan *plan,
					    const struct perf_event_context *ctx,
					    u64 clock, u64 *payload)
{
	u64 ctx_time = mg_compat_ctx_running_now(ctx, clock);
	const struct mg_count *this = plan->clocks;
	const struct mg_count *end = this + plan->nr_clocks;
	u64 count, prev;

	for (; this != end; this++) {
		struct perf_event *event = this->event;

		do {
			prev = local64_read(&event->hw.prev_count);
			count = local64_read(&event->count);
		} while (unlikely(prev != local64_read(&event->hw.prev_count)));
		if (likely(event->state == PERF_EVENT_STATE_ACTIVE))
			count += (this->task ? ctx_time : clock) - prev;
		payload[this->word] = count;
	}
}

static __always_inline void mg_write_counts(const struct mg_plan *plan, u64 *payload)
{
	const struct mg_count *this = plan->counts;
	const struct mg_count *end = this + plan->nr_counts;

	for (; this != end; this++)
		payload[this->word] = local64_read(&this->event->count);
}

/*
 * Write a payload, except for its constants, in the format that is described at
 * enum perf_event_read_format in <linux/perf_event.h>. The plan is current.
 */
static __always_inline void mg_write_payload(const struct mg_plan *plan,
					     const struct perf_event_context *ctx,
					     u64 clock, u64 *payload)
{
	const struct mg_counter *counter = plan->counter;
	u32 i;

	if (counter->read_format & (PERF_FORMAT_TOTAL_TIME_ENABLED |
				    PERF_FORMAT_TOTAL_TIME_RUNNING))
		mg_write_times(counter, mg_plan_times(plan, ctx, clock), payload);
	mg_write_counts(plan, payload);
	mg_write_clocks(plan, ctx, clock, payload);
	if (counter->read_format & PERF_FORMAT_LOST)
		for (i = 0; i < plan->nr_present; i++)
			payload[counter->lost_word + i * counter->stride] =
				atomic64_read(&plan->events[i]->lost_samples);
}

/*
 * The same for a plain group that counts on this CPU, in a frame that already has the
 * constants. The time of its context is running, and @clock is not before its start.
 */
static __always_inline void mg_write_plain(const struct mg_plan *plan,
					   const struct perf_event_context *ctx,
					   u64 clock, u64 *payload)
{
	const struct perf_event *leader = plan->leader;
	u64 delta = mg_compat_ctx_running_now(ctx, clock) - leader->tstamp;

	payload[1] = leader->total_time_enabled + delta;
	payload[2] = leader->total_time_running + delta;
	mg_write_counts(plan, payload);
	if (plan->nr_clocks)
		mg_write_clocks(plan, ctx, clock, payload);
}

/*
 * Bring event->count of a group that counts up to date, as __perf_event_read()
 * does. The plan is current.
 *
 * Return: 0, or the error of its PMU.
 */
static __always_inline int mg_refresh(const struct mg_plan *plan)
{
	struct perf_event *const *reads = plan->reads;
	struct perf_event *const *end = reads + plan->nr_reads;
	struct pmu *pmu = NULL;

	if (!plan->nr_reads)
		return 0;
	if (plan->transaction) {
		pmu = mg_compat_group_pmu(plan->leader);
		pmu->start_txn(pmu, PERF_PMU_TXN_READ);
	}
	for (; reads != end; reads++)
		if (likely((*reads)->state == PERF_EVENT_STATE_ACTIVE))
			(*reads)->pmu->read(*reads);
	return pmu ? pmu->commit_txn(pmu) : 0;
}

#endif /* MG_PERF_READ_H */
