/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_STREAM_H
#define MG_STREAM_H

#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/kconfig.h>
#include <linux/perf_metagroup.h>
#include <linux/poll.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "stream/memlock.h"
#include "stream/stream_cpu.h"

struct mg_group;
struct mg_limit;
struct vm_area_struct;

/**
 * struct mg_stream - the stream of a handle
 * @cpus:	data that its CPUs use
 * @group:	the meta-group; the handle's reference, constant
 * @limit:	limits of the user of the handle, or NULL; constant
 * @ring_size:	bytes of data in each ring; while running, constant
 * @overwrite:	rings are overwritten; as @ring_size
 * @skipped:	CPUs that have no deadlines; as @ring_size
 * @hotplug:	entry in the hotplug core's list of running streams
 * @rings_lock:	makes the memory of the rings visible to mmap(2) without
 *		mg_group.mutex
 * @memlock:	process to charge for the rings: the one that started the stream
 * @wait:	readers in poll(2); the handle's wait queue
 * @wakeup:	wakes them, on PREEMPT_RT
 * @fixup:	sweeps, so that members that could not be read can be read again
 * @delay:	of @fixup in ms; mg_group.mutex, READ_ONCE() without
 */
struct mg_stream {
	struct mg_stream_cpus cpus;
	struct mg_group *group;
	struct mg_limit *limit;
	size_t ring_size;
	bool overwrite;
	cpumask_var_t skipped;
	struct hlist_node hotplug;
	spinlock_t rings_lock;	/* for the memory of the rings */
	struct mg_memlock memlock;
	wait_queue_head_t *wait;
	struct work_struct wakeup;
	struct work_struct fixup;
	int delay;
};

/**
 * struct mg_stream_stats - sums over all CPUs
 * @deadlines:	see struct mg_stream_cpu
 * @lost:	mg_stream_cpu.all_lost
 * @throttled:	see struct mg_stream_cpu
 * @idle_stops:	see struct mg_stream_cpu
 */
struct mg_stream_stats {
	u64 deadlines;
	u64 lost;
	u64 throttled;
	u64 idle_stops;
};

#if IS_ENABLED(CONFIG_PERF_METAGROUP_STREAM)
struct mg_stream *mg_stream_create(struct mg_group *group, struct mg_limit *limit,
				   wait_queue_head_t *wait);
void mg_stream_destroy(struct mg_stream *stream);
int mg_stream_start(struct mg_stream *stream, struct perf_metagroup_stream *arg);
u64 mg_stream_stop(struct mg_stream *stream);
int mg_stream_reserve(struct mg_stream *stream, int cpu);
void mg_stream_update(struct mg_stream *stream);
int mg_stream_mmap(struct mg_stream *stream, struct vm_area_struct *vma);
__poll_t mg_stream_poll(struct mg_stream *stream);
void mg_stream_stats(const struct mg_stream *stream, struct mg_stream_stats *stats);
int mg_stream_init(void);
void mg_stream_exit(void);
#else
static inline void mg_stream_destroy(struct mg_stream *stream)
{
}

static inline int mg_stream_reserve(struct mg_stream *stream, int cpu)
{
	return 0;
}

static inline void mg_stream_update(struct mg_stream *stream)
{
}

static inline int mg_stream_mmap(struct mg_stream *stream, struct vm_area_struct *vma)
{
	return -EINVAL;
}

static inline __poll_t mg_stream_poll(struct mg_stream *stream)
{
	return 0;
}

static inline void mg_stream_stats(const struct mg_stream *stream,
				   struct mg_stream_stats *stats)
{
}

static inline int mg_stream_init(void)
{
	return 0;
}

static inline void mg_stream_exit(void)
{
}
#endif

#endif /* MG_STREAM_H */
