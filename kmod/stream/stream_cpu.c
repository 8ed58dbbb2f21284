// SPDX-License-Identifier: GPL-2.0-only
/*
 * One CPU of a stream: at each deadline a timer interrupts it, and it reads its
 * members into its ring.
 *
 * In quiet mode, a deadline that finds the CPU idle is the last one until the CPU
 * leaves idle. The timer cannot be cancelled before: when a CPU enters idle, the
 * depth of the idle state has been chosen with the timer in view.
 */
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/tick.h>

#include "compat/timer.h"
#include "core/cpu.h"
#include "stream/sample.h"
#include "stream/stream_cpu.h"
#include "stream/throttle.h"

static void mg_stream_lose(struct mg_stream_cpu *this, u64 deadlines)
{
	WRITE_ONCE(this->lost, this->lost + deadlines);	/* see mg_stream_is_ready() */
	this->all_lost += deadlines;
}

/* Usually the same deadline fills all rings. The first CPU wakes the reader. */
static void mg_stream_wake_reader(struct mg_stream_cpus *stream)
{
	/* Pairs with the xchg() of mg_stream_poll(): either sees what the other wrote. */
	smp_mb();
	if (!READ_ONCE(stream->woken) && !xchg(&stream->woken, 1))
		irq_work_queue(&stream->wake);
}

/*
 * Read the members, or lose the deadline if the ring is full. Return: false if the CPU
 * has no members.
 */
static bool mg_stream_sample(struct mg_stream_cpu *this, const struct mg_now *now)
{
	struct mg_stream_cpus *stream = this->stream;
	struct mg_cpu *on_cpu = this->on_cpu;
	struct mg_ring *ring = &this->ring;
	u64 tail = mg_ring_tail(ring);
	bool full, some, all = true;
	u64 used;

	raw_spin_lock(&on_cpu->lock);
	some = on_cpu->first;
	/* With the lock held, so that adding a member after this arms the timer. */
	if (unlikely(!some))
		WRITE_ONCE(this->armed, false);
	/* Counts will be newer than idle_now. */
	mg_cpu_idle_invalidate(on_cpu);
	full = some && !mg_ring_has_room(ring, tail, on_cpu->sample_room);
	if (unlikely(full)) {
		mg_stream_lose(this, 1);
		mg_ring_publish(ring);	/* in case user space has overwritten it */
	} else if (likely(some)) {
		if (unlikely(this->lost)) {
			mg_cpu_sample_lost(on_cpu, this->cpu, now, ring, this->lost);
			this->lost = 0;
		}
		all = mg_cpu_sample(on_cpu, this->cpu, now, ring);
		this->deadlines++;
		mg_ring_publish(ring);
	}
	raw_spin_unlock(&on_cpu->lock);

	if (unlikely(!all) && !READ_ONCE(stream->failed)) {
		WRITE_ONCE(stream->failed, true);
		irq_work_queue(&stream->wake);
	}
	/* As in mg_stream_is_ready(): an empty ring that is too small has nothing to read. */
	used = ring->head - tail;
	if (unlikely((full && used) || used >= stream->watermark) && !ring->overwrite)
		mg_stream_wake_reader(stream);
	return some;
}

/* In quiet mode: stop deadlines if the CPU is idle. */
static bool mg_stream_stop_in_idle(struct mg_stream_cpu *this)
{
	if (!is_idle_task(current) || need_resched() || !READ_ONCE(this->stream->running))
		return false;
	this->idle = true;
	this->idle_fresh = true;
	this->idle_stops++;
	/* Deferrable: it expires at a tick of the CPU, and does not wake it. */
	mod_timer(&this->watchdog, jiffies + (tick_nohz_full_cpu(this->cpu) ? HZ : 1));
	return true;
}

static enum hrtimer_restart mg_stream_timer(struct hrtimer *timer)
{
	struct mg_stream_cpu *this = container_of(timer, struct mg_stream_cpu, timer);
	const struct mg_now now = {
		.mono = ktime_get_ns(),
		.perf = mg_perf_clock(this->cpu),
	};
	struct mg_stream_cpus *stream = this->stream;
	u64 deadline = ktime_to_ns(hrtimer_get_expires(timer));
	u64 next = deadline + stream->period;
	u64 until, missed;
	bool again = true;

	if (unlikely(now.mono >= next)) {
		missed = div64_u64(now.mono - deadline, stream->period);
		mg_stream_lose(this, missed);
		next += missed * stream->period;
	}

	until = mg_throttle_until(now.mono);
	if (unlikely(until)) {
		mg_stream_lose(this, 1);
		this->throttled++;
	} else {
		again = mg_stream_sample(this, &now);
	}

	if (unlikely(!again) || (stream->quiet && mg_stream_stop_in_idle(this))) {
		this->armed = false;
		mg_throttle_charge(this->cpu, &now);
		return HRTIMER_NORESTART;
	}
	if (unlikely(until > next)) {
		missed = div64_u64(until - next + stream->period - 1, stream->period);
		mg_stream_lose(this, missed);
		this->throttled += missed;
		next += missed * stream->period;
	}
	hrtimer_set_expires(timer, ns_to_ktime(next));
	mg_throttle_charge(this->cpu, &now);
	return HRTIMER_RESTART;
}

/**
 * mg_stream_cpu_arm - start deadlines on this CPU
 * @this:	this CPU of a stream
 * @deadline:	the first one, or 0 for the next one from now
 *
 * Context: Interrupts are off.
 */
void mg_stream_cpu_arm(struct mg_stream_cpu *this, u64 deadline)
{
	u64 period = this->stream->period;

	if (this->armed)
		return;
	if (!deadline)
		deadline = (div64_u64(ktime_get_ns(), period) + 1) * period;
	this->idle = false;
	this->armed = true;
	hrtimer_start(&this->timer, ns_to_ktime(deadline), HRTIMER_MODE_ABS_PINNED_HARD);
}

/*
 * A CPU that was idle at a deadline may become busy without leaving an idle state
 * again: an interrupt that follows at once makes it run a task.
 */
static void mg_stream_watchdog(struct timer_list *timer)
{
	struct mg_stream_cpu *this = container_of(timer, struct mg_stream_cpu, watchdog);
	unsigned long flags;

	local_irq_save(flags);
	if (this->idle && this->cpu == smp_processor_id())
		mg_stream_cpu_arm(this, 0);
	local_irq_restore(flags);
}

/**
 * mg_stream_idle_enter - a CPU enters idle
 * @idle:	mg_stream_cpus.on_idle
 * @cpu:	this CPU
 * @budget:	not used
 *
 * Context: Interrupts are off.
 */
void mg_stream_idle_enter(struct mg_idle *idle, unsigned int cpu, struct mg_budget *budget)
{
	struct mg_stream_cpus *stream = container_of(idle, struct mg_stream_cpus, on_idle);
	struct mg_stream_cpu *this = &stream->on_cpu[cpu];

	if (this->idle_fresh)
		this->idle_fresh = false;
}

/**
 * mg_stream_idle_exit - a CPU leaves idle
 * @idle:	mg_stream_cpus.on_idle
 * @cpu:	this CPU
 *
 * If the timer ended the idle state, the CPU will enter idle again, and has no
 * deadlines until something else wakes it.
 *
 * Context: Interrupts are on or off.
 */
void mg_stream_idle_exit(struct mg_idle *idle, unsigned int cpu)
{
	struct mg_stream_cpus *stream = container_of(idle, struct mg_stream_cpus, on_idle);
	struct mg_stream_cpu *this = &stream->on_cpu[cpu];
	unsigned long flags;

	if (!READ_ONCE(this->idle))
		return;
	local_irq_save(flags);
	if (this->idle && (!this->idle_fresh || need_resched()))
		mg_stream_cpu_arm(this, 0);
	local_irq_restore(flags);
}

/**
 * mg_stream_cpu_init - initialize; the CPU has no deadlines
 * @this:	zeroed
 * @stream:	the CPUs of the stream
 * @cpu:	number of the CPU
 */
void mg_stream_cpu_init(struct mg_stream_cpu *this, struct mg_stream_cpus *stream, int cpu)
{
	hrtimer_setup(&this->timer, mg_stream_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_PINNED_HARD);
	/* A nohz_full= CPU may never have a tick, so there the watchdog wakes the CPU. */
	timer_setup(&this->watchdog, mg_stream_watchdog,
		    TIMER_PINNED | (tick_nohz_full_cpu(cpu) ? 0 : TIMER_DEFERRABLE));
	this->stream = stream;
	this->cpu = cpu;
}

/*
 * The timer was cancelled. Deadlines that are lost because of max_stream_percent are
 * counted in advance: subtract those that are still in the future. If the timer was
 * late, count those that it did not handle.
 */
static void mg_stream_disarm(struct mg_stream_cpu *this)
{
	s64 left = ktime_to_ns(hrtimer_get_expires(&this->timer)) - ktime_get_ns();
	u64 period = this->stream->period;
	u64 future;

	if (this->armed && left <= 0) {
		mg_stream_lose(this, div64_u64(-left, period) + 1);
	} else if (this->armed) {
		future = min(div64_u64(left - 1, period), this->lost);
		this->lost -= future;
		this->all_lost -= future;
		this->throttled -= future;
	}
	this->armed = false;
	this->idle = false;
}

/**
 * mg_stream_cpu_offline - stop deadlines on this CPU, which goes offline
 * @this:	this CPU of a stream
 *
 * Context: Process context, cpu_hotplug_lock is held for writing.
 */
void mg_stream_cpu_offline(struct mg_stream_cpu *this)
{
	local_irq_disable();
	/* Its handler runs on this CPU only, so it does not run now. */
	hrtimer_try_to_cancel(&this->timer);
	mg_stream_disarm(this);
	local_irq_enable();
}

/**
 * mg_stream_cpu_cancel - stop deadlines on a CPU
 * @this:	a CPU of a stream that is no longer running
 *
 * Context: Process context, may sleep.
 */
void mg_stream_cpu_cancel(struct mg_stream_cpu *this)
{
	hrtimer_cancel(&this->timer);
	/* The watchdog may arm the timer once more. The timer no longer arms the watchdog. */
	timer_delete_sync(&this->watchdog);
	hrtimer_cancel(&this->timer);
	mg_stream_disarm(this);
}

/**
 * mg_stream_cpu_flush - report deadlines that were lost since the last record
 * @this:	a CPU of a stream that is stopped
 *
 * Context: mg_group.mutex is held. Takes mg_cpu.lock.
 * Return: the number of lost deadlines that the ring does not report.
 */
u64 mg_stream_cpu_flush(struct mg_stream_cpu *this)
{
	struct mg_cpu *on_cpu = this->on_cpu;
	const struct mg_now now = { .mono = ktime_get_ns() };
	u64 lost;

	if (!this->lost)
		return 0;
	raw_spin_lock_irq(&on_cpu->lock);
	if (on_cpu->first &&
	    mg_ring_has_room(&this->ring, mg_ring_tail(&this->ring), on_cpu->sample_room)) {
		mg_cpu_sample_lost(on_cpu, this->cpu, &now, &this->ring, this->lost);
		mg_ring_publish(&this->ring);
		this->lost = 0;
	}
	raw_spin_unlock_irq(&on_cpu->lock);
	lost = this->lost;
	this->lost = 0;
	return lost;
}
