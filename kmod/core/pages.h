/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel memory that user space can map. It is freed after the last mapping is gone.
 */
#ifndef MG_PAGES_H
#define MG_PAGES_H

#include <linux/kref.h>
#include <linux/types.h>

struct vm_area_struct;

/**
 * struct mg_pages - memory that user space can map
 * @refs:	one reference for the owner, and one for each mapping
 * @size:	bytes that can be mapped
 * @offset:	file offset of @memory, in pages
 * @memory:	the memory
 * @free:	frees the memory and this structure
 *
 * All fields but @refs are constant.
 */
struct mg_pages {
	struct kref refs;
	size_t size;
	unsigned long offset;
	void *memory;
	void (*free)(struct mg_pages *pages);
};

struct mg_pages *mg_pages_create(size_t size);
void mg_pages_get(struct mg_pages *pages);
void mg_pages_put(struct mg_pages *pages);
int mg_pages_mmap(struct mg_pages *pages, struct vm_area_struct *vma);

#endif /* MG_PAGES_H */
