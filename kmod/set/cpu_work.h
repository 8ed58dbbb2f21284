/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_CPU_WORK_H
#define MG_CPU_WORK_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct mg_cpu_works;

/**
 * struct mg_cpu_work - work for one CPU
 * @cpu:	the CPU
 * @item:	data of the user
 * @work:	the work item
 * @works:	the work of all CPUs
 * @own_cpu:	@cpu does it, not the caller
 */
struct mg_cpu_work {
	int cpu;
	void *item;
	struct work_struct work;
	struct mg_cpu_works *works;
	bool own_cpu;
};

/**
 * struct mg_cpu_works - work for many CPUs
 * @func:	does the work of one CPU; may sleep
 * @work:	the work of each CPU
 * @count:	entries of @work
 * @next:	index of the first that no CPU has; may exceed @count; atomic
 * @left:	number of entries that are not done; atomic
 * @done:	completed when @left is 0
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
