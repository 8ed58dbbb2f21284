/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_FRAMES_H
#define MG_FRAMES_H

#include <linux/types.h>

#include "core/member.h"
#include "core/sink.h"
#include "core/snapshot.h"

/**
 * struct mg_frames - the members in attach order, and their frames
 * @snapshot:		memory of the frames
 * @members:		members, by rising id
 * @nr_members:		entries of @members in use
 * @max_members:	entries of @members
 * @size:		bytes of a copy of the snapshot with all frames
 * @relayout:		members were attached or detached since the last sweep
 *
 * All fields and functions: mg_group.mutex is held.
 */
struct mg_frames {
	struct mg_snapshot snapshot;
	struct mg_member **members;
	u32 nr_members;
	u32 max_members;
	u64 size;
	bool relayout;
};

int mg_frames_init(struct mg_frames *frames);
void mg_frames_destroy(struct mg_frames *frames);
int mg_frames_find(const struct mg_frames *frames, u32 id);
int mg_frames_reserve(struct mg_frames *frames, u32 nr_members, u32 max, u64 size);
void mg_frames_add(struct mg_frames *frames, struct mg_member *member);
struct mg_member *mg_frames_remove(struct mg_frames *frames, u32 index);
void mg_frames_replace(struct mg_frames *frames, u32 index, struct mg_member *member);
void mg_frames_lay_out(struct mg_frames *frames);
bool mg_frames_prepare(struct mg_frames *frames);
void mg_frames_carry_over(struct mg_frames *frames, struct mg_member *member);

/* The copy of the snapshot that the next sweep writes. */
static inline struct mg_sink mg_frames_sink(const struct mg_frames *frames)
{
	unsigned int next = mg_snapshot_next(&frames->snapshot);

	return (struct mg_sink){ .base = frames->snapshot.copy[next], .copy = next };
}

/* Return true if that copy has the current layout. */
static inline bool mg_frames_are_laid_out(const struct mg_frames *frames)
{
	const struct mg_snapshot *snapshot = &frames->snapshot;

	return snapshot->laid_out[mg_snapshot_next(snapshot)] == snapshot->layout;
}

#endif /* MG_FRAMES_H */
