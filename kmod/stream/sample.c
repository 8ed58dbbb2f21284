// SPDX-License-Identifier: GPL-2.0-only
#include <linux/string.h>

#include "stream/sample.h"

/**
 * mg_sample_lost - append a record of lost samples
 * @member:	member that was not read
 * @cpu:	this CPU
 * @now:	current time
 * @ring:	the ring, which has room
 * @lost:	number of samples
 *
 * Context: Interrupts are off.
 */
void mg_sample_lost(const struct mg_member *member, int cpu, const struct mg_now *now,
		    struct mg_ring *ring, u64 lost)
{
	struct mg_lost_samples *record = mg_ring_append(ring, sizeof(*record));

	*record = (struct mg_lost_samples){
		.header = {
			.type = PERF_RECORD_LOST_SAMPLES,
			.size = sizeof(*record),
		},
		.lost = lost,
		.time = now->mono,
		.cpu = cpu,
		.id = mg_counter_id(member->counter),
	};
}

/**
 * mg_sample_any - read a member in any state into a ring
 * @member:	the member
 * @ctx:	the context that mg_plan_lock() has locked
 * @cpu:	this CPU
 * @now:	current time
 * @ring:	the ring, which has room
 *
 * Context: ctx->lock is held, interrupts are off.
 * Return: see read.h.
 */
noinline int mg_sample_any(const struct mg_member *member,
			   struct perf_event_context *ctx, int cpu,
			   const struct mg_now *now, struct mg_ring *ring)
{
	const struct mg_plan *plan = member->plan;
	u64 *payload, *shown;
	u32 status;
	int ret;

	ret = mg_update_any(member, ctx, cpu, &status);
	if (ret < 0 || status == PERF_METAGROUP_ERROR) {
		mg_sample_lost(member, cpu, now, ring, 1);
		return ret;
	}
	shown = mg_sample_begin(plan, cpu, now, ring);
	/* User space sees the ring, but not what the events counted for others. */
	payload = member->view ? member->view->payload : shown;
	mg_plan_write_constants(plan, payload);
	mg_write_payload(plan, ctx, now->perf, payload);
	if (member->view) {
		mg_view_apply(member->view, plan, status, payload);
		memcpy(shown, payload, mg_payload_size(plan->counter, plan->nr_events));
	}
	return ret;
}
