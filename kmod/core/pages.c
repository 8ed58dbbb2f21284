// SPDX-License-Identifier: GPL-2.0-only
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
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
	return pages;
}

static void mg_pages_free_ring(struct mg_pages *pages)
{
	size_t i;

	if (pages->memory)
		vunmap(pages->memory);
	for (i = 0; i < pages->size >> PAGE_SHIFT && pages->ring[i]; i++) {
		__free_page(pages->ring[i]);
		cond_resched();
	}
	kvfree(pages->ring);
	mg_uncharge(&pages->charge);
}

/**
 * mg_pages_create_ring - allocate a page and a ring behind it, filled with zeros
 * @data_size:	bytes of the ring, a multiple of the size of a page
 * @offset:	where the page is in the file, in pages
 * @node:	NUMA node
 * @memlock:	who pays for it
 *
 * The kernel sees the ring twice in a row, so that it can write what crosses the
 * end of the ring as if it did not.
 *
 * Context: Process context, may sleep.
 * Return: a reference, or ERR_PTR(-ENOMEM), ERR_PTR(-EPERM) or ERR_PTR(-EINTR).
 */
struct mg_pages *mg_pages_create_ring(size_t data_size, unsigned long offset, int node,
				      const struct mg_memlock *memlock)
{
	size_t nr_data = data_size >> PAGE_SHIFT;
	struct mg_pages *pages;
	int err;
	size_t i;

	pages = kzalloc(sizeof(*pages), GFP_KERNEL_ACCOUNT);
	if (!pages)
		return ERR_PTR(-ENOMEM);
	kref_init(&pages->refs);
	pages->size = PAGE_SIZE + data_size;
	pages->offset = offset;
	pages->ring = kvcalloc(1 + 2 * nr_data, sizeof(*pages->ring), GFP_KERNEL_ACCOUNT);
	if (!pages->ring) {
		kfree(pages);
		return ERR_PTR(-ENOMEM);
	}
	err = mg_charge(&pages->charge, memlock, 1 + nr_data);
	if (err)
		goto put;

	for (i = 0; i <= nr_data; i++) {
		err = -EINTR;
		if (fatal_signal_pending(current))
			goto put;
		cond_resched();
		err = -ENOMEM;
		/* Refused, rather than that processes are killed for it. */
		pages->ring[i] = alloc_pages_node(node, MG_GFP_MAPPED | __GFP_ZERO |
						  __GFP_RETRY_MAYFAIL | __GFP_NOWARN, 0);
		if (!pages->ring[i])
			goto put;
	}
	memcpy(&pages->ring[1 + nr_data], &pages->ring[1], nr_data * sizeof(*pages->ring));
	pages->memory = vmap(pages->ring, 1 + 2 * nr_data, VM_MAP, PAGE_KERNEL);
	if (pages->memory)
		return pages;
put:
	mg_pages_put(pages);
	return ERR_PTR(err);
}

static void mg_pages_free(struct kref *refs)
{
	struct mg_pages *pages = container_of(refs, struct mg_pages, refs);

	if (pages->ring)
		mg_pages_free_ring(pages);
	else if (is_vmalloc_addr(pages->memory))
		vfree(pages->memory);
	else
		free_pages_exact(pages->memory, pages->size);
	kfree(pages);
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
 * Pages are mapped when they are accessed, so they come back after MADV_DONTNEED.
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
