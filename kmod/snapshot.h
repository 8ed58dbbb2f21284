/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory of a meta-group's descriptors.
 *
 * It is laid out as a FRAMED read returns it: header, then one frame per
 * member in attach order. A frame starts on a cache line and ends on one, so
 * that CPUs which fill neighbouring frames share none. User space may map it.
 */
#ifndef MG_SNAPSHOT_H
#define MG_SNAPSHOT_H

#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/perf_metagroup.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/barrier.h>

struct vm_area_struct;

#define MG_MAX_SNAPSHOT		(64u * 1024 * 1024)
#define MG_SNAPSHOT_HEAD	ALIGN(sizeof(struct perf_metagroup_snapshot), \
				      SMP_CACHE_BYTES)

/*
 * All fields: mg_group.mutex, and constant during a sweep. @head and @bytes
 * change under @map_lock too: mmap() holds mmap_lock, inside which
 * mg_group.mutex must not be taken, because a read() copies to the user and may
 * fault with it held.
 */
struct mg_snapshot {
	struct perf_metagroup_snapshot *head;	/* the memory */
	size_t bytes;				/* its size */
	u32 stride;				/* of a frame */
	struct mutex map_lock;
};

int mg_snapshot_init(struct mg_snapshot *snapshot);
int mg_snapshot_reserve(struct mg_snapshot *snapshot, u32 frames, u32 payload);
int mg_snapshot_map(struct mg_snapshot *snapshot, struct vm_area_struct *vma);
void mg_snapshot_destroy(struct mg_snapshot *snapshot);

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

/* Nothing remains of @frames frames: their records are void. */
static inline void mg_snapshot_clear(struct mg_snapshot *snapshot, u32 frames)
{
	memset(mg_snapshot_frame(snapshot, 0), 0, (size_t)frames * snapshot->stride);
}

/*
 * Whoever has the memory mapped may look at any time. From begin to end
 * @version is odd; the user's side is described in perf_metagroup.h.
 *
 * The frames are written by handlers on other CPUs. They see the odd version,
 * and have it seen before what they write, because llist_add() in
 * smp_call_function_many_cond() and llist_del_all() in
 * flush_smp_call_function_queue() are full barriers.
 */
static inline void mg_snapshot_write_begin(struct mg_snapshot *snapshot)
{
	WRITE_ONCE(snapshot->head->version, snapshot->head->version + 1);
	smp_wmb();	/* pairs with the reader's barrier before its second look */
}

static inline void mg_snapshot_write_end(struct mg_snapshot *snapshot)
{
	/* Pairs with the acquire of the reader's first look. */
	smp_store_release(&snapshot->head->version, snapshot->head->version + 1);
}

#endif /* MG_SNAPSHOT_H */
