/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_CPU_WORK_H
#define MG_CPU_WORK_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct mg_cpu_works;

/**
 * struct mg_cpu_work - what is to be done for one CPU
 * @cpu:	the CPU
 * @item:	of the user
 * @work:	the work item
 * @works:	what it is part of
 * @own_cpu:	that CPU is to do it, not the caller
 */
struct mg_cpu_work {
	int cpu;
	void *item;
	struct work_struct work;
	struct mg_cpu_works *works;
	bool own_cpu;
};

/**
 * struct mg_cpu_works - what is to be done for many CPUs
 * @func:	does it for one; may sleep
 * @work:	for each CPU
 * @count:	entries of @work
 * @next:	the first that no CPU has; may be larger than @count; atomic
 * @left:	number of those that are not done; atomic
 * @done:	there are none
 */
struct mg_cpu_works {
	void (*func)(struct mg_cpu_work *work);
	struct mg_cpu_work *work;
	u32 count;
	atomic_t next;
	atomic_t left;
	struct completion done;
};

int mg_cpu_works_run(struct mg_cpu_works *works, struct mg_cpu_work *work, u32 count,
		     bool interruptible);

#endif /* MG_CPU_WORK_H */
