/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Perf meta-groups for other modules: open, read and close the same events on many CPUs
 * together. The counters are shared with all users that count the same events, in user
 * space or in the kernel.
 *
 * A module that uses these functions keeps perf_metagroup.ko loaded; see examples/kernel/
 * for an example. The functions are described in exports.c.
 */
#ifndef _LINUX_PERF_METAGROUP_H
#define _LINUX_PERF_METAGROUP_H

#include <linux/types.h>
#include <uapi/linux/perf_metagroup.h>

struct cpumask;
struct perf_event_attr;
struct perf_metagroup;

/**
 * struct perf_metagroup_counts - counts of the events of one CPU
 * @cpu:	the CPU
 * @status:	PERF_METAGROUP_OK or another status of struct perf_metagroup_record. If it
 *		is OFFLINE, the counts are those from before the CPU went offline
 * @time:	when the events were read, CLOCK_MONOTONIC in ns
 * @enabled:	ns for which the first event was enabled
 * @running:	ns for which the first event counted
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
