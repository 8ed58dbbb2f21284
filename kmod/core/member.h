/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_MEMBER_H
#define MG_MEMBER_H

#include <linux/cache.h>
#include <linux/kernel.h>

#include "core/counter.h"

struct mg_view;

/**
 * struct mg_member - a counter as part of one meta-group
 * @plan:	how to read the counter; replaced under mg_group.mutex and mg_cpu.lock
 * @next:	next member on the same CPU; as mg_cpu.first
 * @offset:	of the frame in each copy of the snapshot; mg_group.mutex
 * @error:	why the record is STALE, or 0; sweep
 * @cpu:	CPU whose list the member is on; mg_group.mutex
 * @written:	for each copy of the snapshot: generation of the plan whose
 *		constants are in the frame, or MG_NOTHING_WRITTEN; sweep
 * @id:		number; mg_group.mutex, constant once attached
 * @generation:	how many times kernel events were reopened or replaced; as @plan
 * @counter:	source of the counts; a reference, replaced as @plan
 * @view:	view of kernel events; NULL for a group; constant
 * @scratch:	memory of @view for a payload that user space must not see; or NULL; constant
 * @grow_error:	result of the last attempt to enlarge the frame; mg_group.mutex
 * @grow_after:	no new attempt before this time in jiffies; mg_group.mutex
 *
 * "sweep": written by the CPU that reads the member during a sweep, and under
 * mg_group.mutex between sweeps.
 *
 * The fields that a handler uses come first. Size and alignment keep them in one
 * cache line, except @view.
 */
struct mg_member {
	struct mg_plan *plan;
	struct mg_member *next;
	u32 offset[2];
	int error;
	int cpu;
	u64 written[2];
	u32 id;
	u32 generation;
	struct mg_counter *counter;
	struct mg_view *view;
	u64 *scratch;
	int grow_error;
	unsigned long grow_after;
} ____cacheline_aligned;

#define MG_NOTHING_WRITTEN	U64_MAX	/* larger than any generation */

/* Cause both records to be written completely. */
static inline void mg_member_unwrite(struct mg_member *member)
{
	member->written[0] = MG_NOTHING_WRITTEN;
	member->written[1] = MG_NOTHING_WRITTEN;
}

/* Bytes of a frame. It begins and ends at a cache line. */
static inline u32 mg_frame_size(const struct mg_counter *counter, u32 capacity)
{
	return ALIGN(counter->record_size + mg_payload_size(counter, capacity),
		     SMP_CACHE_BYTES);
}

static inline u32 mg_member_frame_size(const struct mg_member *member)
{
	return mg_frame_size(member->counter, member->plan->capacity);
}

/*
 * Bytes in addition to the payload that a member may need in a ring of the layer above,
 * for one deadline and for those lost before. If it cannot be read at a deadline, that
 * deadline has a separate record, which is no longer than a payload of one count.
 */
#define MG_SAMPLE_HEAD	72

static inline u32 mg_sample_room_of(const struct mg_counter *counter, u32 capacity)
{
	return MG_SAMPLE_HEAD + mg_payload_size(counter, capacity);
}

static inline u32 mg_sample_room(const struct mg_member *member)
{
	return mg_sample_room_of(member->counter, member->plan->capacity);
}

struct mg_member *mg_member_create(int fd, u32 *reason);
const char *mg_status_name(u32 status);
int mg_member_describe(const struct mg_member *member, struct mg_event_info *info,
		       u64 *ids, u32 max_ids);
int mg_member_claim(struct mg_member **members, u32 count, u32 *failed);
void mg_members_destroy(struct mg_member **members, u32 count);

#endif /* MG_MEMBER_H */
