/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Accounting of memory that user space can map and the kernel cannot reclaim.
 */
#ifndef MG_MEMLOCK_H
#define MG_MEMLOCK_H

#include <linux/types.h>

struct mg_limit;
struct mm_struct;

/**
 * struct mg_memlock - a process that pins memory
 * @limit:	limits of its user, which outlive the memory; NULL for no limit
 * @mm:		the process; a reference, or NULL if there is none yet
 * @most:	its RLIMIT_MEMLOCK, in pages
 */
struct mg_memlock {
	struct mg_limit *limit;
	struct mm_struct *mm;
	unsigned long most;
};

/**
 * struct mg_charge - pages that were charged
 * @limit:	limits of the user to whom @of_user pages were charged, or NULL
 * @mm:		the process to which @of_mm pages were charged; a reference
 * @of_user:	pages within max_ring_kb
 * @of_mm:	pages within RLIMIT_MEMLOCK
 */
struct mg_charge {
	struct mg_limit *limit;
	struct mm_struct *mm;
	unsigned long of_user;
	unsigned long of_mm;
};

void mg_memlock_set(struct mg_memlock *memlock, struct mg_limit *limit);
void mg_memlock_clear(struct mg_memlock *memlock);
int mg_charge(struct mg_charge *charge, const struct mg_memlock *memlock, unsigned long pages);
void mg_uncharge(struct mg_charge *charge);

#endif /* MG_MEMLOCK_H */
