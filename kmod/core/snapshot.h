/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory of a meta-group's frames, in two copies: a sweep writes one of them while
 * the other one, which holds the last sweep, is published. User space may map them.
 *
 * A copy has the layout of a FRAMED read: header, then one frame per member in
 * attach order. A frame begins and ends at a cache line, so that CPUs that write
 * neighbouring frames share none.
 */
#ifndef MG_SNAPSHOT_H
#define MG_SNAPSHOT_H

#include <linux/cache.h>
#include <linux/kernel.h>
#include <linux/perf_metagroup.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct mg_pages;
struct vm_area_struct;

#define MG_MAX_SNAPSHOT		(64u * 1024 * 1024)	/* bytes of a copy */
#define MG_SNAPSHOT_HEAD	ALIGN(sizeof(struct perf_metagroup_snapshot), \
				      SMP_CACHE_BYTES)

/**
 * struct mg_snapshot - two copies of a snapshot
 * @map:	start of the memory, as user space sees it
 * @copy:	start of each copy
 * @capacity:	bytes of a copy
 * @used:	bytes of each copy that may differ from 0
 * @layout:	number of the current layout of frames
 * @laid_out:	layout of each copy, 0 if it has no frames
 * @pages:	the memory; @pages_lock must also be held to change it
 * @pages_lock:	makes @pages readable without mg_group.mutex
 *
 * All fields: mg_group.mutex; constant while handlers run.
 */
struct mg_snapshot {
	struct perf_metagroup_map *map;
	void *copy[2];
	size_t capacity;
	size_t used[2];
	u32 layout;
	u32 laid_out[2];
	struct mg_pages *pages;
	spinlock_t pages_lock;	/* for @pages */
};

int mg_snapshot_init(struct mg_snapshot *snapshot);
int mg_snapshot_reserve(struct mg_snapshot *snapshot, u64 size);
void mg_snapshot_publish(struct mg_snapshot *snapshot);
void mg_snapshot_clear(struct mg_snapshot *snapshot, unsigned int copy);
int mg_snapshot_mmap(struct mg_snapshot *snapshot, struct vm_area_struct *vma);
size_t mg_snapshot_map_size(const struct mg_snapshot *snapshot);
void mg_snapshot_destroy(struct mg_snapshot *snapshot);

/* Index of the copy that the next sweep writes. */
static inline unsigned int mg_snapshot_next(const struct mg_snapshot *snapshot)
{
	return ~snapshot->map->version & 1;
}

#endif /* MG_SNAPSHOT_H */
