/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ring of one CPU, in the layout of a perf event's ring: a page with the indices,
 * then the data. The kernel keeps its own index outside that page, which user space
 * can write.
 */
#ifndef MG_RING_H
#define MG_RING_H

#include <linux/compiler.h>
#include <linux/perf_event.h>
#include <linux/types.h>
#include <asm/barrier.h>

struct mg_memlock;
struct mg_pages;

/**
 * struct mg_ring - where a CPU writes samples
 * @head:	bytes written so far; negative if @overwrite
 * @size:	bytes of @data, a power of two; constant
 * @data:	the data, mapped twice in a row; constant
 * @page:	the indices, as user space sees them; constant
 * @overwrite:	written backward, over the oldest records; constant
 * @pages:	the memory, or NULL if there is none
 *
 * Written by its CPU with interrupts off. "constant" fields are set while the CPU does
 * not write to the ring.
 */
struct mg_ring {
	u64 head;
	u64 size;
	void *data;
	struct perf_event_mmap_page *page;
	bool overwrite;
	struct mg_pages *pages;
};

int mg_ring_init(struct mg_ring *ring, size_t size, bool overwrite, unsigned long offset,
		 int node, const struct mg_memlock *memlock);

/* The index up to which user space has released the memory. It may have any value. */
static __always_inline u64 mg_ring_tail(const struct mg_ring *ring)
{
	return READ_ONCE(ring->page->data_tail);
}

/*
 * Return true if @size bytes can be written; they never exceed the size of the ring,
 * beyond which there is no memory. Writes depend on the load of @tail, so they are not
 * done before it: user space has then read what they overwrite.
 */
static __always_inline bool mg_ring_has_room(const struct mg_ring *ring, u64 tail, u64 size)
{
	u64 used = ring->head - tail;

	if (size > ring->size)
		return false;
	return ring->overwrite || (used <= ring->size && size <= ring->size - used);
}

/* Memory for the next record. The caller has checked that it fits. */
static __always_inline void *mg_ring_append(struct mg_ring *ring, u32 size)
{
	u64 at = ring->head;

	if (unlikely(ring->overwrite))
		at = ring->head -= size;
	else
		ring->head += size;
	return ring->data + (at & (ring->size - 1));
}

/* Make all records so far visible to user space. */
static __always_inline void mg_ring_publish(struct mg_ring *ring)
{
	/* Pairs with the load-acquire of data_head in user space. */
	smp_store_release(&ring->page->data_head, ring->head);
}

#endif /* MG_RING_H */
