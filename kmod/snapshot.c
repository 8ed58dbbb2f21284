// SPDX-License-Identifier: GPL-2.0-only
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "snapshot.h"

/*
 * Make room for @frames frames with payloads of @payload bytes. Old contents
 * are lost if the memory moves: the caller lays the frames out anew.
 *
 * Return: 0, -E2BIG beyond MG_MAX_SNAPSHOT, -ENOMEM. Nothing changes on error.
 */
int mg_snapshot_reserve(struct mg_snapshot *snapshot, u32 frames, u32 payload)
{
	u32 stride = ALIGN(sizeof(struct perf_metagroup_record) + payload,
			   SMP_CACHE_BYTES);
	struct mg_snapshot next = { .stride = max(stride, snapshot->stride) };
	u64 need = MG_SNAPSHOT_HEAD + (u64)frames * next.stride;

	if (need > MG_MAX_SNAPSHOT)
		return -E2BIG;
	if (need <= snapshot->bytes) {
		snapshot->stride = next.stride;
		return 0;
	}

	/*
	 * Whole pages, the header's start on a page: it can be mapped. Doubled,
	 * so that attaching one by one costs no reallocation each time.
	 */
	next.bytes = PAGE_ALIGN(min_t(u64, max_t(u64, need, 2 * snapshot->bytes),
				      MG_MAX_SNAPSHOT));
	next.head = __vmalloc(next.bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!next.head)
		return -ENOMEM;

	mg_snapshot_free(snapshot);
	*snapshot = next;
	return 0;
}

void mg_snapshot_free(struct mg_snapshot *snapshot)
{
	vfree(snapshot->head);
	*snapshot = (struct mg_snapshot){ };
}
