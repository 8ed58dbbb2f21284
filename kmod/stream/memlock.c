// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory is charged as perf charges its buffers: first to the user, up to max_ring_kb
 * for each CPU, then to the process, up to its RLIMIT_MEMLOCK. The user's part is
 * separate from perf's, because modules cannot read the sysctl perf_event_mlock_kb.
 */
#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/resource.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "core/limit.h"
#include "stream/memlock.h"

/**
 * mg_memlock_set - let the current process pin memory
 * @memlock:	cleared
 * @limit:	limits of its user, or NULL
 *
 * Context: Process context.
 */
void mg_memlock_set(struct mg_memlock *memlock, struct mg_limit *limit)
{
	memlock->limit = limit;
	memlock->mm = current->mm;
	mmgrab(memlock->mm);
	memlock->most = !limit || capable(CAP_IPC_LOCK) ? ULONG_MAX :
			rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
}

/**
 * mg_memlock_clear - stop pinning memory; existing charges stay
 * @memlock:	set or cleared
 *
 * Context: Process context.
 */
void mg_memlock_clear(struct mg_memlock *memlock)
{
	if (memlock->mm)
		mmdrop(memlock->mm);
	memlock->mm = NULL;
}

/**
 * mg_charge - charge pages
 * @charge:	zeroed; mg_uncharge() may be called in either case
 * @memlock:	set
 * @pages:	their number
 *
 * Context: Any.
 * Return: 0, or -EPERM beyond the limits.
 */
int mg_charge(struct mg_charge *charge, const struct mg_memlock *memlock, unsigned long pages)
{
	if (!memlock->limit)
		return 0;
	charge->limit = memlock->limit;
	charge->of_user = mg_limit_take_pages(memlock->limit, pages);
	charge->of_mm = pages - charge->of_user;
	if (!charge->of_mm)
		return 0;
	charge->mm = memlock->mm;
	mmgrab(charge->mm);
	if (atomic64_add_return(charge->of_mm, &charge->mm->pinned_vm) <= memlock->most)
		return 0;
	mg_uncharge(charge);
	return -EPERM;
}

/**
 * mg_uncharge - uncharge pages that were freed
 * @charge:	charged or zeroed; zeroed on return
 *
 * Context: Process context.
 */
void mg_uncharge(struct mg_charge *charge)
{
	if (charge->limit)
		mg_limit_give_pages(charge->limit, charge->of_user);
	if (charge->mm) {
		atomic64_sub(charge->of_mm, &charge->mm->pinned_vm);
		mmdrop(charge->mm);
	}
	*charge = (struct mg_charge){ };
}
