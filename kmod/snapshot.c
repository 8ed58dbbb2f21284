// SPDX-License-Identifier: GPL-2.0-only
#include <linux/minmax.h>
#include <linux/vmalloc.h>

#include "compat/mm.h"
#include "snapshot.h"

int mg_snapshot_init(struct mg_snapshot *snapshot)
{
	mutex_init(&snapshot->map_lock);
	return mg_snapshot_reserve(snapshot, 1, 0);
}

/*
 * Make room for @frames frames with payloads of @payload bytes. Old contents
 * are lost if the memory moves: the caller lays the frames out anew. Called
 * between mg_snapshot_write_begin() and _end(), but for the first time.
 *
 * Return: 0, -E2BIG beyond MG_MAX_SNAPSHOT, -ENOMEM. Nothing changes on error.
 */
int mg_snapshot_reserve(struct mg_snapshot *snapshot, u32 frames, u32 payload)
{
	u32 stride = ALIGN(sizeof(struct perf_metagroup_record) + payload,
			   SMP_CACHE_BYTES);
	u64 need, bytes;
	void *head;

	stride = max(stride, snapshot->stride);
	need = MG_SNAPSHOT_HEAD + (u64)frames * stride;
	if (need > MG_MAX_SNAPSHOT)
		return -E2BIG;
	if (need <= snapshot->bytes) {
		snapshot->stride = stride;
		return 0;
	}

	/* Doubled, so that attaching one by one costs no move each time. */
	bytes = PAGE_ALIGN(min_t(u64, max_t(u64, need, 2 * snapshot->bytes),
				 MG_MAX_SNAPSHOT));
	head = __vmalloc(bytes, MG_GFP_MAPPED | __GFP_ZERO);
	if (!head)
		return -ENOMEM;

	mutex_lock(&snapshot->map_lock);
	if (snapshot->head) {
		memcpy(head, snapshot->head, MG_SNAPSHOT_HEAD);
		/* The last word to those who have mapped it. */
		snapshot->head->flags |= PERF_METAGROUP_SNAPSHOT_MOVED;
		mg_snapshot_write_end(snapshot);
		/* Pages that are mapped live until they are not. */
		vfree(snapshot->head);
	}
	snapshot->head = head;
	snapshot->bytes = bytes;
	snapshot->stride = stride;
	mutex_unlock(&snapshot->map_lock);
	return 0;
}

/* Map all that there is, or the first part, read-only and for ever so. */
int mg_snapshot_map(struct mg_snapshot *snapshot, struct vm_area_struct *vma)
{
	unsigned long size = vma->vm_end - vma->vm_start;
	unsigned long offset;
	int err = 0;

	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	if (vma->vm_pgoff)
		return -EINVAL;
	mg_compat_vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE);

	mutex_lock(&snapshot->map_lock);
	if (size > snapshot->bytes)
		err = -EINVAL;
	for (offset = 0; offset < size && !err; offset += PAGE_SIZE)
		err = vm_insert_page(vma, vma->vm_start + offset,
				     vmalloc_to_page((void *)snapshot->head + offset));
	mutex_unlock(&snapshot->map_lock);
	return err;
}

void mg_snapshot_destroy(struct mg_snapshot *snapshot)
{
	vfree(snapshot->head);
	mutex_destroy(&snapshot->map_lock);
}
