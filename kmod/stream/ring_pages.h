/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_RING_PAGES_H
#define MG_RING_PAGES_H

#include <linux/types.h>

struct mg_memlock;
struct mg_pages;

struct mg_pages *mg_ring_pages_create(size_t data_size, unsigned long offset, int node,
				      const struct mg_memlock *memlock);

#endif /* MG_RING_PAGES_H */
