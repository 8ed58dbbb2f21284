// SPDX-License-Identifier: GPL-2.0-only
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "core/layers.h"
#include "core/read.h"

/*
 * Functions named mg_update_* bring the counts of a member up to date and set
 * @status. They are called with ctx->lock held; read.h describes their return values.
 */

/* A group that does not count. perf updated its counts when it stopped. */
static int mg_update_inactive(const struct mg_member *member, enum mg_place place, u32 *status)
{
	struct mg_plan *plan = member->plan;
	int err;

	/* It may have moved to another CPU, where it does not count either. */
	if (place == MG_MOVING || mg_counter_cpu(member->counter) != member->cpu)
		return -EAGAIN;

	*status = mg_event_status(plan->leader, place);
	if (*status == PERF_METAGROUP_ERROR)
		return MG_SCOPE_ANY;
	err = place == MG_INSTALLED ? mg_plan_update(plan) : mg_plan_make(plan, place);
	return err ?: MG_SCOPE_ANY;
}

/* A group that does not count on this CPU. */
static int mg_update_elsewhere(const struct mg_member *member,
			       const struct perf_event_context *ctx, u32 *status)
{
	struct mg_plan *plan = member->plan;
	enum mg_place place = mg_event_place(plan->leader, ctx);
	int err;

	if (place != MG_INSTALLED || !mg_event_is_active(plan->leader))
		return mg_update_inactive(member, place, status);

	/* It was moved, and now counts on another CPU. */
	if (mg_counter_cpu(member->counter) != member->cpu)
		return -EAGAIN;
	err = mg_plan_update(plan);
	if (err)
		return err;
	if (plan->scope == MG_SCOPE_CPU ||
	    (plan->scope == MG_SCOPE_TOPOLOGY && !mg_event_in_scope(plan->leader)))
		return -EBUSY;
	*status = PERF_METAGROUP_OK;
	return mg_refresh(plan) ?: plan->scope;
}

/**
 * mg_update_any - bring the counts of a member in any state up to date
 * @member:	the member
 * @ctx:	the context that mg_plan_lock() has locked
 * @cpu:	this CPU, or MG_OTHER_CPU
 * @status:	result: PERF_METAGROUP_OK, ...
 *
 * Context: ctx->lock is held, interrupts are off.
 * Return: see read.h.
 */
int mg_update_any(const struct mg_member *member, struct perf_event_context *ctx,
		  int cpu, u32 *status)
{
	struct mg_plan *plan = member->plan;
	int err;

	if (member->counter->ops)
		return member->counter->ops->update(member, ctx, cpu, status);
	if (!mg_counts_on(plan, cpu))
		return mg_update_elsewhere(member, ctx, status);
	err = mg_plan_update(plan);
	if (err)
		return err;
	*status = PERF_METAGROUP_OK;
	return mg_refresh(plan) ?: plan->scope;
}

/* Write a record without a payload. */
static void mg_write_void(struct mg_member *member, const struct mg_sink *sink, u32 status,
			  const struct mg_now *now)
{
	struct perf_metagroup_record *record = mg_sink_record(sink, member);

	member->written[sink->copy] = MG_NOTHING_WRITTEN;
	if (member->counter->ops)
		mg_sink_set_record(record)->generation = member->generation;
	record->cpu = member->cpu;
	record->size = 0;
	record->status = status;
	record->time = now->mono;
}

/**
 * mg_write_shown - write the payload of a member whose counts are up to date
 * @member:	the member
 * @ctx:	the context that mg_plan_lock() has locked
 * @status:	result of mg_update_any()
 * @clock:	current time, perf_clock()
 * @shown:	destination; user space may have mapped it
 *
 * The users of a set must not see what its events counted for others, not even while the
 * payload is being written.
 *
 * Context: ctx->lock is held, interrupts are off.
 */
void mg_write_shown(const struct mg_member *member, const struct perf_event_context *ctx,
		    u32 status, u64 clock, u64 *shown)
{
	const struct mg_plan *plan = member->plan;
	u64 *payload = member->scratch ?: shown;

	mg_plan_write_constants(plan, payload);
	mg_write_payload(plan, ctx, clock, payload);
	if (payload != shown) {
		member->counter->ops->show(member, status, payload);
		memcpy(shown, payload, mg_payload_size(plan->counter, plan->nr_events));
	}
}

/**
 * mg_write_record - write the record of a member whose counts are up to date
 * @member:	the member
 * @sink:	where its record is
 * @status:	result of mg_update_any()
 * @now:	time of the counts
 * @ctx:	the context that mg_plan_lock() has locked
 *
 * Context: ctx->lock is held, interrupts are off.
 */
void mg_write_record(struct mg_member *member, const struct mg_sink *sink, u32 status,
		     const struct mg_now *now, const struct perf_event_context *ctx)
{
	struct perf_metagroup_record *record = mg_sink_record(sink, member);
	const struct mg_plan *plan = member->plan;

	if (status == PERF_METAGROUP_ERROR) {
		mg_write_void(member, sink, status, now);
		return;
	}
	/* Events may leave a dissolved group without a new generation. */
	if (member->written[sink->copy] != plan->generation ||
	    mg_status_is_dissolved(status)) {
		record->cpu = member->cpu;
		record->size = mg_payload_size(member->counter, plan->nr_events);
		member->written[sink->copy] = plan->generation;
	}
	record->status = status;
	record->time = now->mono;
	mg_write_shown(member, ctx, status, now->perf,
		       (void *)record + member->counter->record_size);
	if (member->counter->ops)
		mg_sink_set_record(record)->generation = member->generation;
}

/**
 * mg_read_failed - mark the record of a member STALE
 * @member:	the member
 * @now:	current time
 * @sink:	where its record is
 * @err:	why it cannot be read
 *
 * Context: ctx->lock is held, interrupts are off.
 * Return: @err.
 */
int mg_read_failed(struct mg_member *member, const struct mg_now *now,
		   const struct mg_sink *sink, int err)
{
	mg_write_void(member, sink, PERF_METAGROUP_STALE, now);
	/* The next success is then in mg_read_any(), which clears the error. */
	mg_member_unwrite(member);
	member->error = err;
	return err;
}

/**
 * mg_read_any - read a member in any state
 * @member:	the member
 * @ctx:	the context that mg_plan_lock() has locked
 * @cpu:	this CPU, or MG_OTHER_CPU
 * @now:	current time
 * @sink:	where its record is
 *
 * Context: ctx->lock is held, interrupts are off.
 * Return: see read.h.
 */
noinline int mg_read_any(struct mg_member *member, struct perf_event_context *ctx,
			 int cpu, const struct mg_now *now, const struct mg_sink *sink)
{
	u32 status;
	int ret;

	ret = mg_update_any(member, ctx, cpu, &status);
	if (ret < 0)
		return mg_read_failed(member, now, sink, ret);
	mg_write_record(member, sink, status, now, ctx);
	member->error = 0;
	return ret;
}

/**
 * mg_read_remote - read a member without interrupting its CPU
 * @member:	the member
 * @cpu:	its CPU
 * @now:	current time
 * @sink:	where its record is
 *
 * Context: Interrupts are off. Takes ctx->lock.
 * Return: see read.h.
 */
int mg_read_remote(struct mg_member *member, int cpu, const struct mg_now *now,
		   const struct mg_sink *sink)
{
	struct perf_event_context *ctx = mg_plan_lock(member->plan);
	int ret;

	/* A member that was moved to this CPU no longer belongs to @cpu. */
	ret = mg_read_any(member, ctx, smp_processor_id() == cpu ? cpu : MG_OTHER_CPU, now, sink);
	mg_plan_unlock(ctx);
	return ret;
}
