// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading one member into a ring, as a record of perf_event_open(2) with
 * sample_type MG_SAMPLE_TYPE and sample_id_all.
 */
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/perf_event.h>

#include "core/cpu.h"
#include "core/layers.h"
#include "core/read.h"
#include "stream/ring.h"
#include "stream/sample.h"

/**
 * struct mg_sample - PERF_RECORD_SAMPLE
 * @header:	header of all records
 * @id:		identifier of the leader
 * @time:	CLOCK_MONOTONIC in ns
 * @cpu:	CPU that was read
 * @reserved:	0
 *
 * The payload follows. The sample_type is PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_TIME,
 * PERF_SAMPLE_CPU and PERF_SAMPLE_READ.
 */
struct mg_sample {
	struct perf_event_header header;
	u64 id;
	u64 time;
	u32 cpu;
	u32 reserved;
};

/**
 * struct mg_lost_samples - PERF_RECORD_LOST_SAMPLES
 * @header:	header of all records
 * @lost:	number of samples
 * @time:	as in struct mg_sample
 * @cpu:	as in struct mg_sample
 * @reserved:	0
 * @id:		as in struct mg_sample
 */
struct mg_lost_samples {
	struct perf_event_header header;
	u64 lost;
	u64 time;
	u32 cpu;
	u32 reserved;
	u64 id;
};

/* The core reserves these sizes, see mg_sample_room(). */
static_assert(sizeof(struct mg_sample) + sizeof(struct mg_lost_samples) == MG_SAMPLE_HEAD);
static_assert(sizeof(struct mg_sample) + sizeof(u64) >= sizeof(struct mg_lost_samples));

/* Append a sample without its payload. Return: the destination of the payload. */
static __always_inline u64 *mg_sample_begin(const struct mg_plan *plan, int cpu,
					    const struct mg_now *now, struct mg_ring *ring)
{
	u32 size = sizeof(struct mg_sample) + mg_payload_size(plan->counter, plan->nr_events);
	struct mg_sample *sample = mg_ring_append(ring, size);

	sample->header.type = PERF_RECORD_SAMPLE;
	sample->header.misc = 0;
	sample->header.size = size;
	sample->id = mg_counter_id(plan->counter);
	sample->time = now->mono;
	sample->cpu = cpu;
	sample->reserved = 0;
	return (u64 *)(sample + 1);
}

/* Append a record of lost samples, which fits into the ring. */
static void mg_sample_lost(const struct mg_member *member, int cpu, const struct mg_now *now,
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

/*
 * Read a member in any state into a ring into which it fits. mg_plan_lock() has locked
 * @ctx. Return: see read.h.
 */
static noinline int mg_sample_any(const struct mg_member *member,
				  struct perf_event_context *ctx, int cpu,
				  const struct mg_now *now, struct mg_ring *ring)
{
	u32 status;
	int ret;

	ret = mg_update_any(member, ctx, cpu, &status);
	if (ret < 0 || status == PERF_METAGROUP_ERROR) {
		mg_sample_lost(member, cpu, now, ring, 1);
		return ret;
	}
	mg_write_shown(member, ctx, status, now->perf,
		       mg_sample_begin(member->plan, cpu, now, ring));
	return ret;
}

/*
 * Read a member of this CPU into its ring, into which it fits. Interrupts are off.
 * Has the same fast path as mg_read_local(). Return: see read.h.
 */
static __always_inline int mg_sample_local(const struct mg_member *member, int cpu,
					   const struct mg_now *now, struct mg_ring *ring)
{
	struct mg_plan *plan = member->plan;
	struct perf_event_context *ctx = mg_plan_lock(plan);
	u64 *payload;
	int ret;

	if (likely(mg_counts_on(plan, cpu) && plan->plain &&
		   mg_plan_is_at(plan, plan->generation) && !mg_refresh(plan))) {
		payload = mg_sample_begin(plan, cpu, now, ring);
		mg_plan_write_constants(plan, payload);
		mg_write_plain(plan, ctx, now->perf, payload);
		ret = MG_SCOPE_CPU;
	} else {
		ret = mg_sample_any(member, ctx, cpu, now, ring);
	}
	mg_plan_unlock(ctx);
	return ret;
}

/**
 * mg_cpu_sample - read all members of this CPU into its ring
 * @on_cpu:	this CPU; its lock is held
 * @cpu:	its number
 * @now:	current time
 * @ring:	the ring, with space for mg_cpu.sample_room bytes
 *
 * Context: Interrupts are off. Takes ctx->lock.
 * Return: true if all members could be read.
 */
bool mg_cpu_sample(const struct mg_cpu *on_cpu, int cpu, const struct mg_now *now,
		   struct mg_ring *ring)
{
	const struct mg_member *member;
	bool all = true;

	for (member = on_cpu->first; member; member = member->next)
		if (unlikely(mg_sample_local(member, cpu, now, ring) < 0))
			all = false;
	return all;
}

/**
 * mg_cpu_sample_lost - append records of lost samples for all members of a CPU
 * @on_cpu:	the CPU; its lock is held
 * @cpu:	its number
 * @now:	current time
 * @ring:	ring of that CPU, with space for mg_cpu.sample_room bytes
 * @lost:	number of deadlines
 *
 * Context: Interrupts are off.
 */
void mg_cpu_sample_lost(const struct mg_cpu *on_cpu, int cpu, const struct mg_now *now,
			struct mg_ring *ring, u64 lost)
{
	const struct mg_member *member;

	for (member = on_cpu->first; member; member = member->next)
		mg_sample_lost(member, cpu, now, ring, lost);
}
