/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory of a meta-group's descriptors.
 *
 * It is laid out as a FRAMED read returns it: header, then one frame per
 * member in attach order. A frame starts on a cache line and ends on one, so
 * that CPUs which fill neighbouring frames share none.
 */
#ifndef MG_SNAPSHOT_H
#define MG_SNAPSHOT_H

#include <linux/cache.h>
#include <linux/kernel.h>
#include <linux/perf_metagroup.h>
#include <linux/types.h>

#define MG_MAX_SNAPSHOT		(64u * 1024 * 1024)
#define MG_SNAPSHOT_HEAD	ALIGN(sizeof(struct perf_metagroup_snapshot), \
				      SMP_CACHE_BYTES)

/* All fields: mg_group.mutex, and constant during a sweep. */
struct mg_snapshot {
	struct perf_metagroup_snapshot *head;	/* the memory */
	size_t bytes;				/* its size */
	u32 stride;				/* of a frame */
};

int mg_snapshot_reserve(struct mg_snapshot *snapshot, u32 frames, u32 payload);
void mg_snapshot_free(struct mg_snapshot *snapshot);

/* No frames: the next ones need not be as large as the largest so far. */
static inline void mg_snapshot_reset(struct mg_snapshot *snapshot)
{
	snapshot->stride = 0;
}

/* Bytes of a payload that a frame has room for. */
static inline u32 mg_snapshot_room(const struct mg_snapshot *snapshot)
{
	return snapshot->stride - sizeof(struct perf_metagroup_record);
}

static inline size_t mg_snapshot_size(const struct mg_snapshot *snapshot, u32 frames)
{
	return MG_SNAPSHOT_HEAD + (size_t)frames * snapshot->stride;
}

static inline struct perf_metagroup_record *
mg_snapshot_frame(const struct mg_snapshot *snapshot, u32 index)
{
	return (void *)snapshot->head + mg_snapshot_size(snapshot, index);
}

#endif /* MG_SNAPSHOT_H */
