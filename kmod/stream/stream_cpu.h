/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_STREAM_CPU_H
#define MG_STREAM_CPU_H

#include <linux/cache.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/timer.h>
#include <linux/types.h>

#include "quiet/idle.h"
#include "stream/ring.h"

struct mg_cpu;

/**
 * struct mg_stream_cpus - the CPUs of a stream, and data that they share
 * @on_cpu:	[nr_cpu_ids]; constant
 * @period:	ns between deadlines; while running, constant
 * @watermark:	bytes in a ring at which readers are woken; as @period
 * @quiet:	idle CPUs have no deadlines; as @period
 * @running:	between start and stop; mg_group.mutex, READ_ONCE() without
 * @on_idle:	in quiet mode, callbacks of idle CPUs
 * @woken:	a reader has been woken, and has not called poll(2) since; xchg()
 * @failed:	a member has grown or moved; READ_ONCE() and WRITE_ONCE()
 * @wake:	wakes readers, and starts the fixup of members that failed, outside the
 *		handler of a timer
 */
struct mg_stream_cpus {
	struct mg_stream_cpu *on_cpu;
	u64 period;
	u64 watermark;
	bool quiet;
	bool running;
	struct mg_idle on_idle;

	int woken ____cacheline_aligned;
	bool failed;
	struct irq_work wake;
};

/**
 * struct mg_stream_cpu - one CPU of a stream
 * @timer:	expires at the next deadline
 * @stream:	the CPUs of the stream; constant
 * @on_cpu:	the members; constant
 * @ring:	where samples are written; see mg_stream.rings_lock
 * @cpu:	number of the CPU; constant
 * @armed:	@timer is pending, or its handler is running
 * @idle:	the CPU was idle at the last deadline, and has no timer since
 * @idle_fresh:	the CPU has not entered idle again since then
 * @lost:	deadlines without samples since the last record
 * @watchdog:	arms @timer again if @idle is set while the CPU is busy
 * @deadlines:	number of deadlines with samples so far
 * @all_lost:	number of deadlines without samples so far
 * @throttled:	part of @all_lost that is due to max_stream_percent
 * @idle_stops:	how many times @idle was set, which is how many times the stream has
 *		woken the CPU
 *
 * All fields that are not constant are used by the CPU itself, with interrupts
 * off, and by the task that starts or stops the stream, while @timer is not armed.
 */
struct mg_stream_cpu {
	struct hrtimer timer;
	struct mg_stream_cpus *stream;
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

void mg_stream_cpu_init(struct mg_stream_cpu *this, struct mg_stream_cpus *stream, int cpu);
void mg_stream_cpu_arm(struct mg_stream_cpu *this, u64 deadline);
void mg_stream_cpu_offline(struct mg_stream_cpu *this);
void mg_stream_cpu_cancel(struct mg_stream_cpu *this);
u64 mg_stream_cpu_flush(struct mg_stream_cpu *this);
void mg_stream_idle_enter(struct mg_idle *idle, unsigned int cpu, struct mg_budget *budget);
void mg_stream_idle_exit(struct mg_idle *idle, unsigned int cpu);

#endif /* MG_STREAM_CPU_H */
