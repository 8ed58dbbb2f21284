// SPDX-License-Identifier: GPL-2.0-only
#include <linux/err.h>
#include <linux/mm.h>

#include "core/pages.h"
#include "stream/ring.h"
#include "stream/ring_pages.h"

/**
 * mg_ring_init - create the memory of a ring
 * @ring:	without memory
 * @size:	bytes of data, a power of two and a multiple of the size of a page
 * @overwrite:	overwrite the oldest records
 * @offset:	file offset of the ring, in pages
 * @node:	NUMA node
 * @memlock:	process to charge
 *
 * Context: Process context, may sleep.
 * Return: 0, -ENOMEM, -EPERM or -EINTR.
 */
int mg_ring_init(struct mg_ring *ring, size_t size, bool overwrite, unsigned long offset,
		 int node, const struct mg_memlock *memlock)
{
	struct mg_pages *pages = mg_ring_pages_create(size, offset, node, memlock);

	if (IS_ERR(pages))
		return PTR_ERR(pages);

	ring->head = 0;
	ring->size = size;
	ring->page = pages->memory;
	ring->data = pages->memory + PAGE_SIZE;
	ring->overwrite = overwrite;
	ring->page->size = offsetof(struct perf_event_mmap_page, __reserved);
	ring->page->data_offset = PAGE_SIZE;
	ring->page->data_size = size;
	ring->pages = pages;
	return 0;
}
