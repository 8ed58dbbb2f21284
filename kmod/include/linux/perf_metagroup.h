/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Perf meta-groups for other modules: the same events on many CPUs, which are opened,
 * read and closed together. The counters are shared with all others that count the
 * same, in user space or in the kernel.
 *
 * A module that uses this keeps perf_metagroup.ko loaded; examples/kernel/ has one. The
 * functions are described in exports.c.
 */
#ifndef _LINUX_PERF_METAGROUP_H
#define _LINUX_PERF_METAGROUP_H

#include <linux/types.h>
#include <uapi/linux/perf_metagroup.h>

struct cpumask;
struct perf_event_attr;
struct perf_metagroup;

/**
 * struct perf_metagroup_counts - what the events of one CPU have counted
 * @cpu:	the CPU
 * @status:	PERF_METAGROUP_OK; PERF_METAGROUP_IDLE and others as in a record. The
 *		counts of a CPU that is OFFLINE are those that it had before
 * @time:	when it was read, CLOCK_MONOTONIC in ns
 * @enabled:	ns since the events were opened
 * @running:	ns of them during which the first event counted
 * @counts:	counts, in the order of the attrs; NULL if @status is STALE or ERROR
 */
struct perf_metagroup_counts {
	int cpu;
	u32 status;
	u64 time;
	u64 enabled;
	u64 running;
	const u64 *counts;
};

typedef void (*perf_metagroup_fn)(const struct perf_metagroup_counts *counts, void *data);

struct perf_metagroup *perf_metagroup_create(const struct perf_event_attr *attrs, u32 nr_events,
					     const struct cpumask *cpus);
int perf_metagroup_sweep(struct perf_metagroup *metagroup, perf_metagroup_fn func, void *data);
int perf_metagroup_read_this_cpu(struct perf_metagroup *metagroup, u64 *counts);
void perf_metagroup_destroy(struct perf_metagroup *metagroup);

#endif /* _LINUX_PERF_METAGROUP_H */
