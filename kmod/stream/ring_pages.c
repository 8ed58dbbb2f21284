// SPDX-License-Identifier: GPL-2.0-only
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat/mm.h"
#include "core/pages.h"
#include "stream/memlock.h"
#include "stream/ring_pages.h"

/**
 * struct mg_ring_pages - the memory of a ring
 * @pages:	the memory as user space maps it
 * @page:	its pages
 * @charge:	whom it is charged to
 *
 * All fields are constant.
 */
struct mg_ring_pages {
	struct mg_pages pages;
	struct page **page;
	struct mg_charge charge;
};

static void mg_ring_pages_free(struct mg_pages *pages)
{
	struct mg_ring_pages *this = container_of(pages, struct mg_ring_pages, pages);
	size_t i;

	if (pages->memory)
		vunmap(pages->memory);
	for (i = 0; i < pages->size >> PAGE_SHIFT && this->page[i]; i++) {
		__free_page(this->page[i]);
		cond_resched();
	}
	kvfree(this->page);
	mg_uncharge(&this->charge);
	kfree(this);
}

/**
 * mg_ring_pages_create - allocate a page and a ring behind it, filled with zeros
 * @data_size:	bytes of the ring, a multiple of the size of a page
 * @offset:	file offset of the page, in pages
 * @node:	NUMA node
 * @memlock:	process to charge
 *
 * The kernel maps the ring twice in a row, so that a record that wraps around the end
 * is contiguous.
 *
 * Context: Process context, may sleep.
 * Return: a reference, or ERR_PTR(-ENOMEM), ERR_PTR(-EPERM) or ERR_PTR(-EINTR).
 */
struct mg_pages *mg_ring_pages_create(size_t data_size, unsigned long offset, int node,
				      const struct mg_memlock *memlock)
{
	size_t nr_data = data_size >> PAGE_SHIFT;
	struct mg_ring_pages *this;
	int err;
	size_t i;

	this = kzalloc(sizeof(*this), GFP_KERNEL_ACCOUNT);
	if (!this)
		return ERR_PTR(-ENOMEM);
	kref_init(&this->pages.refs);
	this->pages.size = PAGE_SIZE + data_size;
	this->pages.offset = offset;
	this->pages.free = mg_ring_pages_free;
	this->page = kvcalloc(1 + 2 * nr_data, sizeof(*this->page), GFP_KERNEL_ACCOUNT);
	if (!this->page) {
		kfree(this);
		return ERR_PTR(-ENOMEM);
	}
	err = mg_charge(&this->charge, memlock, 1 + nr_data);
	if (err)
		goto put;

	for (i = 0; i <= nr_data; i++) {
		err = -EINTR;
		if (fatal_signal_pending(current))
			goto put;
		cond_resched();
		err = -ENOMEM;
		/* Fail rather than invoke the OOM killer. */
		this->page[i] = alloc_pages_node(node, MG_GFP_MAPPED | __GFP_ZERO |
						  __GFP_RETRY_MAYFAIL | __GFP_NOWARN, 0);
		if (!this->page[i])
			goto put;
	}
	memcpy(&this->page[1 + nr_data], &this->page[1], nr_data * sizeof(*this->page));
	this->pages.memory = vmap(this->page, 1 + 2 * nr_data, VM_MAP, PAGE_KERNEL);
	if (this->pages.memory)
		return &this->pages;
put:
	mg_pages_put(&this->pages);
	return ERR_PTR(err);
}
