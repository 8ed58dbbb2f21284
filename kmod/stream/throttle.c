// SPDX-License-Identifier: GPL-2.0-only
/*
 * All CPU time that streams use is charged here: the time of handlers, whether they
 * read members or not, and the time of the interrupts around them.
 *
 * The limit is GCRA, as in limit.c: an interrupt that takes t adds t * 100 / limit
 * to the time until which the CPU has used its share. A stream that finds the CPU
 * more than MG_THROTTLE_BURST ahead waits until it is not ahead at all. All streams
 * that wait until then can run, so no stream wakes only to wait again.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sort.h>

#include "compat/timer.h"
#include "core/perf_read.h"
#include "stream/throttle.h"

static unsigned int max_stream_percent = 10;
module_param(max_stream_percent, uint, 0644);
MODULE_PARM_DESC(max_stream_percent,
		 "percentage of a CPU's time that all streams together may use, 100 for no limit (10)");

/* CPU time by which the limit may be exceeded for a short time. */
#define MG_THROTTLE_BURST	((s64)NSEC_PER_MSEC)

/* A handler that takes longer was not running all the time: a virtual CPU was stopped. */
#define MG_THROTTLE_MAX		((u64)10 * NSEC_PER_MSEC)

/**
 * struct mg_throttle - the share of one CPU that streams have used
 * @used:	time until which the CPU has used its share, CLOCK_MONOTONIC
 * @end:	time up to which it is charged, perf_clock()
 *
 * Used by its CPU with interrupts off.
 */
struct mg_throttle {
	u64 used;
	u64 end;
};

static DEFINE_PER_CPU(struct mg_throttle, mg_throttle);

/* Time that a timer interrupt takes in addition to its handler; constant. */
static u64 mg_throttle_overhead;

/**
 * mg_throttle_until - check whether streams have used their share of this CPU
 * @now:	current time, CLOCK_MONOTONIC
 *
 * Context: Interrupts are off.
 * Return: time until which this CPU must not read, 0 if it may read now.
 */
u64 mg_throttle_until(u64 now)
{
	u64 used = this_cpu_read(mg_throttle.used);
	unsigned int limit = READ_ONCE(max_stream_percent);
	s64 ahead = used - now;

	if (likely(ahead <= 0) || limit >= 100 ||
	    ahead * max(limit, 1u) <= 100 * MG_THROTTLE_BURST)
		return 0;
	return used;
}

/**
 * mg_throttle_charge - charge an interrupt of a stream to this CPU
 * @cpu:	this CPU
 * @begin:	when its handler began
 *
 * Called at the end of the handler. Several handlers may run in one interrupt, so the
 * time that is charged in addition to a handler is the time since the previous handler,
 * at most that of an interrupt.
 *
 * Context: Interrupts are off.
 */
void mg_throttle_charge(int cpu, const struct mg_now *begin)
{
	struct mg_throttle *this = this_cpu_ptr(&mg_throttle);
	unsigned int limit = READ_ONCE(max_stream_percent);
	u64 from, taken;

	if (limit >= 100)
		return;
	from = max(begin->perf - mg_throttle_overhead, this->end);
	this->end = mg_perf_clock(cpu);
	taken = min(this->end - from, MG_THROTTLE_MAX);
	this->used = max(this->used, begin->mono) + div_u64(100 * taken, max(limit, 1u));
}

#define MG_PROBES	15
#define MG_PROBE_PERIOD	(50 * NSEC_PER_USEC)
#define MG_PROBE_MAX	(10 * NSEC_PER_MSEC)

static struct {
	struct hrtimer timer;
	unsigned int count;
	u64 begin;
	u64 end;
} mg_probe __initdata;

static enum hrtimer_restart __init mg_probe_handler(struct hrtimer *timer)
{
	mg_probe.begin = ktime_get_ns();
	hrtimer_set_expires(timer, ns_to_ktime(mg_probe.begin + MG_PROBE_PERIOD));
	WRITE_ONCE(mg_probe.count, mg_probe.count + 1);
	mg_probe.end = ktime_get_ns();
	return HRTIMER_RESTART;
}

/* Measure how long the next interrupt stops this task, without its handler. */
static u64 __init mg_probe_wait(void)
{
	unsigned int count = READ_ONCE(mg_probe.count);
	u64 begin = ktime_get_ns();
	u64 before, after = begin;

	do {
		before = after;
		after = ktime_get_ns();
	} while (READ_ONCE(mg_probe.count) == count && after - begin < MG_PROBE_MAX);
	/* The interrupt came after the last read of the clock. */
	if (after < READ_ONCE(mg_probe.begin)) {
		before = after;
		after = ktime_get_ns();
	}
	return after - before - (mg_probe.end - mg_probe.begin);
}

static int __init mg_compare_u64(const void *a, const void *b)
{
	return *(const u64 *)a < *(const u64 *)b ? -1 : *(const u64 *)a > *(const u64 *)b;
}

/**
 * mg_throttle_init - measure the time that a timer interrupt takes on this CPU
 *
 * Context: Process context, less than a millisecond.
 */
void __init mg_throttle_init(void)
{
	u64 taken[MG_PROBES];
	unsigned int i;

	hrtimer_setup(&mg_probe.timer, mg_probe_handler, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
	preempt_disable();
	hrtimer_start(&mg_probe.timer, ns_to_ktime(MG_PROBE_PERIOD),
		      HRTIMER_MODE_REL_PINNED_HARD);
	for (i = 0; i < MG_PROBES; i++)
		taken[i] = mg_probe_wait();
	preempt_enable();
	hrtimer_cancel(&mg_probe.timer);

	/* The median, because a virtual CPU may be stopped meanwhile. */
	sort(taken, MG_PROBES, sizeof(*taken), mg_compare_u64, NULL);
	mg_throttle_overhead = min(taken[MG_PROBES / 2], MG_THROTTLE_MAX);
}
