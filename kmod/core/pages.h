/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory of the kernel that user space can map. It stays as long as it is mapped.
 */
#ifndef MG_PAGES_H
#define MG_PAGES_H

#include <linux/kref.h>
#include <linux/types.h>

#include "stream/memlock.h"

struct page;
struct vm_area_struct;

/**
 * struct mg_pages - memory that user space can map
 * @refs:	one reference of the owner, and one of each mapping
 * @size:	bytes that can be mapped
 * @offset:	where @memory begins in the file, in pages
 * @memory:	the memory
 * @ring:	the pages of a ring, NULL for other memory
 * @charge:	of a ring: who pays for it
 *
 * All fields but @refs are constant.
 */
struct mg_pages {
	struct kref refs;
	size_t size;
	unsigned long offset;
	void *memory;
	struct page **ring;
	struct mg_charge charge;
};

struct mg_pages *mg_pages_create(size_t size);
struct mg_pages *mg_pages_create_ring(size_t data_size, unsigned long offset, int node,
				      const struct mg_memlock *memlock);
void mg_pages_get(struct mg_pages *pages);
void mg_pages_put(struct mg_pages *pages);
int mg_pages_mmap(struct mg_pages *pages, struct vm_area_struct *vma);

#endif /* MG_PAGES_H */
