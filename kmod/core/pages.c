// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat/mm.h"
#include "core/pages.h"

/*
 * Up to this size, memory is contiguous if possible: it needs no TLB entries of
 * its own, and usercopy checks it faster.
 */
#define MG_MAX_CONTIGUOUS	(128 * 1024)

static void *mg_pages_alloc(size_t size)
{
	void *memory = NULL;

	if (size <= MG_MAX_CONTIGUOUS)
		memory = alloc_pages_exact(size, MG_GFP_MAPPED | __GFP_ZERO |
					   __GFP_NORETRY | __GFP_NOWARN);
	return memory ?: __vmalloc(size, MG_GFP_MAPPED | __GFP_ZERO);
}

static void mg_pages_free_memory(struct mg_pages *pages)
{
	if (is_vmalloc_addr(pages->memory))
		vfree(pages->memory);
	else
		free_pages_exact(pages->memory, pages->size);
	kfree(pages);
}

/**
 * mg_pages_create - allocate memory, filled with zeros
 * @size:	number of bytes, a multiple of the size of a page
 *
 * Context: Process context, may sleep.
 * Return: a reference, or NULL.
 */
struct mg_pages *mg_pages_create(size_t size)
{
	struct mg_pages *pages;

	pages = kzalloc(sizeof(*pages), GFP_KERNEL_ACCOUNT);
	if (!pages)
		return NULL;
	pages->memory = mg_pages_alloc(size);
	if (!pages->memory) {
		kfree(pages);
		return NULL;
	}
	kref_init(&pages->refs);
	pages->size = size;
	pages->free = mg_pages_free_memory;
	return pages;
}

static void mg_pages_free(struct kref *refs)
{
	struct mg_pages *pages = container_of(refs, struct mg_pages, refs);

	pages->free(pages);
}

/**
 * mg_pages_get - get another reference
 * @pages:	the memory
 */
void mg_pages_get(struct mg_pages *pages)
{
	kref_get(&pages->refs);
}

/**
 * mg_pages_put - drop a reference
 * @pages:	the memory; freed with its last reference
 *
 * Context: Process context.
 */
void mg_pages_put(struct mg_pages *pages)
{
	kref_put(&pages->refs, mg_pages_free);
}

static void mg_pages_open(struct vm_area_struct *vma)
{
	mg_pages_get(vma->vm_private_data);
}

static void mg_pages_close(struct vm_area_struct *vma)
{
	mg_pages_put(vma->vm_private_data);
}

static vm_fault_t mg_pages_fault(struct vm_fault *vmf)
{
	struct mg_pages *pages = vmf->vma->vm_private_data;
	pgoff_t index = vmf->pgoff - pages->offset;
	void *address;

	if (index >= pages->size >> PAGE_SHIFT)
		return VM_FAULT_SIGBUS;
	address = pages->memory + (index << PAGE_SHIFT);
	vmf->page = is_vmalloc_addr(address) ? vmalloc_to_page(address) : virt_to_page(address);
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct mg_pages_ops = {
	.open = mg_pages_open,
	.close = mg_pages_close,
	.fault = mg_pages_fault,
};

/**
 * mg_pages_mmap - map memory, or the first part of it
 * @pages:	the memory; the reference is consumed, also on failure
 * @vma:	the mapping; it begins at pages->offset
 *
 * Pages are mapped when they are accessed, so they are mapped again after MADV_DONTNEED.
 *
 * Context: Process context. mmap_lock is held.
 * Return: 0, or -EINVAL if the mapping is larger than the memory.
 */
int mg_pages_mmap(struct mg_pages *pages, struct vm_area_struct *vma)
{
	if (vma->vm_end - vma->vm_start > pages->size) {
		mg_pages_put(pages);
		return -EINVAL;
	}
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP, 0);
	vma->vm_private_data = pages;
	vma->vm_ops = &mg_pages_ops;
	return 0;
}
