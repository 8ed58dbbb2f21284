/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading one member into a ring, as a record of perf_event_open(2) with
 * sample_type MG_SAMPLE_TYPE and sample_id_all.
 */
#ifndef MG_SAMPLE_H
#define MG_SAMPLE_H

#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/perf_event.h>
#include <linux/types.h>

#include "core/member.h"
#include "core/perf_read.h"
#include "core/read.h"
#include "stream/ring.h"

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

/*
 * Bytes that a member of @capacity events may need in a ring for one deadline, and
 * for those lost before. A deadline at which it cannot be read is a record of its own,
 * which is no larger than a sample.
 */
static inline u32 mg_sample_room_of(const struct mg_counter *counter, u32 capacity)
{
	static_assert(sizeof(struct mg_lost_samples) <= sizeof(struct mg_sample) + sizeof(u64));
	return sizeof(struct mg_lost_samples) + sizeof(struct mg_sample) +
	       mg_payload_size(counter, capacity);
}

static inline u32 mg_sample_room(const struct mg_member *member)
{
	return mg_sample_room_of(member->counter, member->plan->capacity);
}

void mg_sample_lost(const struct mg_member *member, int cpu, const struct mg_now *now,
		    struct mg_ring *ring, u64 lost);
int mg_sample_any(const struct mg_member *member, struct perf_event_context *ctx, int cpu,
		  const struct mg_now *now, struct mg_ring *ring);

/* Append a sample without its payload. Return: where the payload is to be written. */
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

/*
 * Read a member of this CPU into its ring, which has room. Interrupts are off.
 * Fast for the usual member, as mg_read_local(). Return: see read.h.
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

#endif /* MG_SAMPLE_H */
