/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_STREAM_H
#define MG_STREAM_H

#include <linux/cache.h>
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/list.h>
#include <linux/perf_metagroup.h>
#include <linux/poll.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "idle.h"
#include "ring.h"

struct mg_cpu;
struct mg_group;
struct vm_area_struct;

/**
 * struct mg_stream_cpu - one CPU of a stream
 * @timer:	expires at the next deadline
 * @stream:	the stream; constant
 * @on_cpu:	the members; constant
 * @ring:	where samples are written; see mg_stream.rings_lock
 * @cpu:	number of the CPU; constant
 * @armed:	@timer is pending, or its handler runs
 * @idle:	the CPU was idle at the last deadline, and has no timer since
 * @idle_fresh:	the CPU has not entered idle again since then
 * @lost:	deadlines without samples since the last record
 * @watchdog:	arms @timer again if @idle is set while the CPU is busy
 * @deadlines:	number of deadlines with samples so far
 * @all_lost:	number of deadlines without samples so far
 * @throttled:	part of @all_lost: because of max_stream_percent
 * @idle_stops:	how often @idle was set, which is how often the stream has woken
 *		the CPU
 *
 * All fields that are not constant are used by the CPU itself, with interrupts
 * off; and by the task that starts or stops the stream, while @timer is not armed.
 */
struct mg_stream_cpu {
	struct hrtimer timer;
	struct mg_stream *stream;
	struct mg_cpu *on_cpu;
	struct mg_ring ring;
	int cpu;
	bool armed;
	bool idle;
	bool idle_fresh;
	u64 lost;
	struct timer_list watchdog;
	u64 deadlines;
	u64 all_lost;
	u64 throttled;
	u64 idle_stops;
} ____cacheline_aligned;

/**
 * struct mg_stream - the stream of a handle
 * @on_cpu:	[nr_cpu_ids]; constant
 * @group:	the meta-group; the handle's reference, constant
 * @period:	ns between deadlines; while running, constant
 * @watermark:	bytes in a ring from which a reader is woken; as @period
 * @ring_size:	bytes of data in each ring; as @period
 * @overwrite:	rings are overwritten; as @period
 * @quiet:	idle CPUs have no deadlines; as @period
 * @running:	between start and stop; mg_group.mutex, READ_ONCE() without
 * @first:	first deadline; as @period
 * @skipped:	CPUs that have no deadlines; as @period
 * @hotplug:	entry in the list of running streams; of the hotplug core
 * @on_idle:	in quiet mode, what idle CPUs call
 * @rings_lock:	makes the memory of the rings visible to mmap(2) without
 *		mg_group.mutex
 * @woken:	a reader has been woken, and has not called poll(2) since
 * @wait:	readers in poll(2)
 * @wake:	wakes them, outside the handler of a timer
 * @failed:	a member has grown or moved
 * @fixup:	sweeps, so that such members can be read again
 */
struct mg_stream {
	struct mg_stream_cpu *on_cpu;
	struct mg_group *group;
	u64 period;
	u64 watermark;
	size_t ring_size;
	bool overwrite;
	bool quiet;
	bool running;
	u64 first;
	cpumask_var_t skipped;
	struct hlist_node hotplug;
	struct mg_idle on_idle;
	spinlock_t rings_lock;	/* for the memory of the rings */

	int woken ____cacheline_aligned;
	wait_queue_head_t wait;
	struct irq_work wake;
	bool failed;
	struct delayed_work fixup;
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

struct mg_stream *mg_stream_create(struct mg_group *group);
void mg_stream_destroy(struct mg_stream *stream);
int mg_stream_start(struct mg_stream *stream, struct perf_metagroup_stream *arg);
u64 mg_stream_stop(struct mg_stream *stream);
int mg_stream_reserve(struct mg_stream *stream, int cpu);
void mg_stream_update(struct mg_stream *stream);
int mg_stream_mmap(struct mg_stream *stream, struct vm_area_struct *vma);
__poll_t mg_stream_poll(struct mg_stream *stream, struct file *file, poll_table *wait);
void mg_stream_stats(const struct mg_stream *stream, struct mg_stream_stats *stats);
int mg_stream_init(void);
void mg_stream_exit(void);

/* stream_cpu.c */
void mg_stream_cpu_init(struct mg_stream_cpu *this, struct mg_stream *stream, int cpu);
void mg_stream_cpu_arm(struct mg_stream_cpu *this, u64 deadline);
void mg_stream_cpu_offline(struct mg_stream_cpu *this);
void mg_stream_cpu_cancel(struct mg_stream_cpu *this);
u64 mg_stream_cpu_flush(struct mg_stream_cpu *this);
void mg_stream_idle_enter(struct mg_idle *idle, unsigned int cpu, struct mg_budget *budget);
void mg_stream_idle_exit(struct mg_idle *idle, unsigned int cpu);

#endif /* MG_STREAM_H */
