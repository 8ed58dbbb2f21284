// SPDX-License-Identifier: GPL-2.0-only
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <asm/barrier.h>

#include "compat/mm.h"
#include "core/pages.h"
#include "core/snapshot.h"

#define MG_MAP_HEAD	ALIGN(sizeof(struct perf_metagroup_map), SMP_CACHE_BYTES)

/**
 * mg_snapshot_init - create a snapshot without frames
 * @snapshot:	zeroed
 *
 * Context: Process context, may sleep.
 * Return: 0 or -ENOMEM. mg_snapshot_destroy() may be called in either case.
 */
int mg_snapshot_init(struct mg_snapshot *snapshot)
{
	spin_lock_init(&snapshot->pages_lock);
	return mg_snapshot_reserve(snapshot, MG_SNAPSHOT_HEAD);
}

/* Move to new memory: the published copy, and an empty one. */
static void mg_snapshot_use(struct mg_snapshot *snapshot, struct mg_pages *pages)
{
	struct perf_metagroup_map *map = pages->memory;
	size_t capacity = ALIGN_DOWN((pages->size - MG_MAP_HEAD) / 2, SMP_CACHE_BYTES);
	unsigned int copy;

	*map = (struct perf_metagroup_map){
		.size = sizeof(*map),
		.version = snapshot->map ? snapshot->map->version : 0,
		.offset = { MG_MAP_HEAD, MG_MAP_HEAD + capacity },
	};
	for (copy = 0; copy < 2; copy++) {
		struct perf_metagroup_snapshot *head = pages->memory + map->offset[copy];

		if (snapshot->map && copy != mg_snapshot_next(snapshot)) {
			memcpy(head, snapshot->copy[copy], snapshot->used[copy]);
		} else {
			head->size = MG_SNAPSHOT_HEAD;
			head->bytes = MG_SNAPSHOT_HEAD;
			snapshot->used[copy] = MG_SNAPSHOT_HEAD;
			snapshot->laid_out[copy] = 0;
		}
		snapshot->copy[copy] = head;
	}
	snapshot->map = map;
	snapshot->capacity = capacity;

	spin_lock(&snapshot->pages_lock);
	snapshot->pages = pages;
	spin_unlock(&snapshot->pages_lock);
}

/**
 * mg_snapshot_reserve - allocate memory for each copy
 * @snapshot:	the snapshot
 * @size:	bytes of a copy
 *
 * If the memory is replaced, the copy that is written next has no frames.
 *
 * Context: Process context, may sleep. mg_group.mutex is held. Takes pages_lock.
 * Return: 0, -E2BIG beyond MG_MAX_SNAPSHOT, or -ENOMEM. Nothing changes on error.
 */
int mg_snapshot_reserve(struct mg_snapshot *snapshot, u64 size)
{
	struct mg_pages *old = snapshot->pages;
	struct mg_pages *pages;
	u64 capacity;

	if (size > MG_MAX_SNAPSHOT)
		return -E2BIG;
	if (size <= snapshot->capacity)
		return 0;

	/* Double the size, so that attaching one by one seldom moves the memory. */
	capacity = min_t(u64, max_t(u64, size, 2 * snapshot->capacity), MG_MAX_SNAPSHOT);
	pages = mg_pages_create(PAGE_ALIGN(MG_MAP_HEAD + 2 * capacity));
	if (!pages)
		return -ENOMEM;

	mg_snapshot_use(snapshot, pages);
	if (old) {
		struct perf_metagroup_map *map = old->memory;

		/* The old memory is not written again, so no order is needed. */
		WRITE_ONCE(map->flags, PERF_METAGROUP_MAP_MOVED);
		mg_pages_put(old);
	}
	return 0;
}

/**
 * mg_snapshot_publish - publish the copy that was written
 * @snapshot:	the snapshot
 *
 * A mapped reader that loads the version now finds a copy that is not written
 * before the next one is published.
 *
 * Context: mg_group.mutex is held.
 */
void mg_snapshot_publish(struct mg_snapshot *snapshot)
{
	/* Pairs with the reader's load-acquire of the version. */
	smp_store_release(&snapshot->map->version, snapshot->map->version + 1);
	/*
	 * Pairs with the acquire fence before the reader's second load of the version:
	 * a reader that sees later writes to the other copy sees this version.
	 */
	smp_wmb();
}

/**
 * mg_snapshot_clear - overwrite the frames of a copy with zeros
 * @snapshot:	the snapshot
 * @copy:	index of a copy that is not published
 *
 * Context: mg_group.mutex is held.
 */
void mg_snapshot_clear(struct mg_snapshot *snapshot, unsigned int copy)
{
	memset(snapshot->copy[copy] + MG_SNAPSHOT_HEAD, 0,
	       snapshot->used[copy] - MG_SNAPSHOT_HEAD);
	snapshot->used[copy] = MG_SNAPSHOT_HEAD;
	snapshot->laid_out[copy] = 0;
}

/**
 * mg_snapshot_mmap - map the memory, or the first part of it, read-only
 * @snapshot:	the snapshot
 * @vma:	the mapping; it cannot become writable later
 *
 * Context: Process context. mmap_lock is held, inside which mg_group.mutex must
 * not be taken. Takes pages_lock.
 * Return: 0, -EPERM or -EINVAL.
 */
int mg_snapshot_mmap(struct mg_snapshot *snapshot, struct vm_area_struct *vma)
{
	struct mg_pages *pages;

	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	if (vma->vm_pgoff)
		return -EINVAL;

	spin_lock(&snapshot->pages_lock);
	pages = snapshot->pages;
	mg_pages_get(pages);
	spin_unlock(&snapshot->pages_lock);

	vm_flags_mod(vma, 0, VM_MAYWRITE);
	return mg_pages_mmap(pages, vma);
}

/**
 * mg_snapshot_map_size - number of bytes that can be mapped
 * @snapshot:	the snapshot
 *
 * Context: mg_group.mutex is held.
 * Return: bytes.
 */
size_t mg_snapshot_map_size(const struct mg_snapshot *snapshot)
{
	return snapshot->pages->size;
}

/**
 * mg_snapshot_destroy - drop the memory, which is freed after the last unmap
 * @snapshot:	no other user is left
 */
void mg_snapshot_destroy(struct mg_snapshot *snapshot)
{
	if (snapshot->pages)
		mg_pages_put(snapshot->pages);
}
