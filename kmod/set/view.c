// SPDX-License-Identifier: GPL-2.0-only
#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "core/member.h"
#include "core/perf_read.h"
#include "set/view.h"

/*
 * Identifiers must be unique among members that share an event, and among the samples
 * of a stream. perf numbers its own from 1.
 */
#define MG_FIRST_ID	BIT_ULL(62)

static atomic64_t mg_ids = ATOMIC64_INIT(0);

/**
 * mg_view_create - create a view that is stopped and shows 0
 * @counter:	the counter, which has kernel events
 * @spec:	what they count
 * @follow:	they are reopened when their CPU comes online
 *
 * Context: Process context, may sleep.
 * Return: the view, or NULL.
 */
struct mg_view *mg_view_create(const struct mg_counter *counter, struct mg_spec *spec,
			       bool follow)
{
	u32 words = mg_payload_size(counter, counter->nr_kernel) / sizeof(u64);
	struct mg_view *view;
	u32 i;

	view = kzalloc(struct_size(view, payload, words + 2 + 3 * counter->nr_kernel),
		       GFP_KERNEL_ACCOUNT);
	if (!view)
		return NULL;
	view->stopped = true;
	view->counts = view->payload + words;
	view->ids = view->counts + counter->nr_kernel;
	view->last = view->ids + counter->nr_kernel;
	for (i = 0; i < counter->nr_kernel; i++)
		view->ids[i] = MG_FIRST_ID + atomic64_inc_return(&mg_ids);
	kref_get(&spec->refs);
	view->spec = spec;
	view->follow = follow;
	view->failure.event = counter->nr_kernel;
	view->failure.cpu = PERF_METAGROUP_NO_CPU;
	return view;
}

/**
 * mg_view_destroy - free a view
 * @view:	the view, or NULL
 */
void mg_view_destroy(struct mg_view *view)
{
	if (view)
		mg_spec_put(view->spec);
	kfree(view);
}

/**
 * mg_view_update - bring the counts of kernel events up to date, if they are shown
 * @member:	the member
 * @ctx:	context of the first event, whose lock is held
 * @cpu:	this CPU, or MG_OTHER_CPU
 * @status:	result
 *
 * Context: Interrupts are off.
 * Return: as mg_kernel_refresh().
 */
int mg_view_update(const struct mg_member *member, struct perf_event_context *ctx, int cpu,
		   u32 *status)
{
	if (likely(!member->view->stopped))
		return mg_kernel_refresh(member->plan, ctx, cpu, status);
	*status = PERF_METAGROUP_OFF;
	return MG_SCOPE_ANY;
}

/*
 * The clocks of CPUs differ slightly: the time of an event that another CPU reads may
 * be earlier than its baseline.
 */
static u64 mg_time_since(u64 time, u64 baseline)
{
	return (s64)(time - baseline) > 0 ? time - baseline : 0;
}

static void mg_view_keep_word(u64 *word, u64 *last, bool restore)
{
	if (restore)
		*word = *last;
	else
		*last = *word;
}

/*
 * An event that its PMU has moved to another CPU counts there. The member then keeps
 * showing what was last read on its own CPU.
 */
static void mg_view_keep(struct mg_view *view, const struct mg_plan *plan, u32 status,
			 u64 *payload)
{
	const struct mg_counter *counter = plan->counter;
	bool restore = mg_status_is_dissolved(status);
	u64 *count = payload + counter->count_word;
	u64 *last = view->last;
	u32 i;

	if (!plan->movable)
		return;
	for (i = 1; i < counter->count_word; i++)
		mg_view_keep_word(&payload[i], last++, restore);
	for (i = 0; i < counter->nr_kernel; i++, count += counter->stride)
		mg_view_keep_word(count, last++, restore);
}

/* The times in a payload, or 0. */
static struct mg_times mg_view_times(const struct mg_counter *counter, const u64 *payload)
{
	struct mg_times times = { };

	if (counter->read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		times.enabled = payload[1];
	if (counter->read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		times.running = payload[counter->running_word];
	return times;
}

/**
 * mg_view_apply - convert a payload to what the view shows
 * @member:	the member
 * @status:	result of mg_view_update()
 * @payload:	payload of the events; changed
 *
 * Context: Interrupts are off. ctx->lock of the first event is held.
 */
void mg_view_apply(const struct mg_member *member, u32 status, u64 *payload)
{
	const struct mg_counter *counter = member->counter;
	struct mg_view *view = member->view;
	u64 *count = payload + counter->count_word;
	u64 *id = payload + counter->id_word;
	struct mg_times times = { .enabled = view->enabled, .running = view->running };
	u32 i;

	if (counter->read_format & PERF_FORMAT_ID)
		for (i = 0; i < counter->nr_kernel; i++, id += counter->stride)
			*id = view->ids[i];
	if (unlikely(view->stopped)) {
		mg_write_times(counter, times, payload);
		for (i = 0; i < counter->nr_kernel; i++, count += counter->stride)
			*count = view->counts[i];
		return;
	}
	mg_view_keep(view, member->plan, status, payload);
	times = mg_view_times(counter, payload);
	times.enabled = mg_time_since(times.enabled, view->enabled);
	times.running = mg_time_since(times.running, view->running);
	mg_write_times(counter, times, payload);
	for (i = 0; i < counter->nr_kernel; i++, count += counter->stride)
		*count -= view->counts[i];
}

/**
 * mg_view_describe - convert a description of kernel events to that of their view
 * @view:	the view
 * @info:	the description; changed
 * @ids:	ids of the events
 * @max_ids:	entries of @ids
 *
 * Context: mg_group.mutex is held.
 */
void mg_view_describe(const struct mg_view *view, struct mg_event_info *info, u64 *ids,
		      u32 max_ids)
{
	u32 i;

	if (view->stopped)
		info->status = PERF_METAGROUP_OFF;
	info->error = -view->error;
	info->failed = view->failure.event;
	info->reason = view->failure.reason;
	for (i = 0; i < min(max_ids, info->nr_events); i++)
		ids[i] = view->ids[i];
}

/*
 * shown = events - baseline, so a baseline that continues what is shown is
 * events - shown.
 */
static void mg_view_toggle(struct mg_view *view, const struct mg_counter *counter)
{
	struct mg_times times = mg_view_times(counter, view->payload);
	const u64 *count = view->payload + counter->count_word;
	u32 i;

	view->stopped = !view->stopped;
	view->enabled = times.enabled - view->enabled;
	view->running = times.running - view->running;
	for (i = 0; i < counter->nr_kernel; i++, count += counter->stride)
		view->counts[i] = *count - view->counts[i];
}

static void mg_view_reset(struct mg_view *view, const struct mg_counter *counter)
{
	const u64 *count = view->payload + counter->count_word;
	u32 i;

	for (i = 0; i < counter->nr_kernel; i++, count += counter->stride)
		view->counts[i] = view->stopped ? 0 : *count;
}

/**
 * mg_view_control - start, stop or reset a view
 * @view:	the view
 * @plan:	plan of the events
 * @op:		MG_VIEW_*
 * @cpu:	this CPU, or MG_OTHER_CPU if the CPU of the events is offline
 * @clock:	current time, perf_clock()
 *
 * Context: Interrupts are off. Takes ctx->lock.
 */
void mg_view_control(struct mg_view *view, const struct mg_plan *plan, enum mg_view_op op,
		     int cpu, u64 clock)
{
	struct perf_event_context *ctx = mg_plan_lock(plan);
	u32 status;

	/* At most once: a move waits for RCU, and so for interrupts to be enabled. */
	while (mg_kernel_refresh(plan, ctx, cpu, &status) == -EAGAIN) {
		mg_plan_unlock(ctx);
		ctx = mg_plan_lock(plan);
	}
	mg_write_payload(plan, ctx, clock, view->payload);
	mg_view_keep(view, plan, status, view->payload);
	mg_plan_unlock(ctx);

	if (op == MG_VIEW_RESET)
		mg_view_reset(view, plan->counter);
	else if (view->stopped == (op == MG_VIEW_START))
		mg_view_toggle(view, plan->counter);
}
