// SPDX-License-Identifier: GPL-2.0-only
/*
 * Streams: CPUs read their members into rings at common deadlines.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "compat/irq_work.h"
#include "compat/workqueue.h"
#include "core/group.h"
#include "core/limit.h"
#include "core/pages.h"
#include "core/sweep.h"
#include "stream/stream.h"
#include "stream/throttle.h"

/* The first deadline is after this time, so that all CPUs are ready for it. */
#define MG_STREAM_LEAD		(100 * NSEC_PER_USEC)

/* A member that has grown or moved is not sampled for about this time. */
#define MG_STREAM_FIXUP_MS	10

/* The longest delay until a ring that could not be allocated is tried again. */
#define MG_STREAM_RETRY_MS	160

/* Streams that are mended at a time: each of them keeps a worker waiting. */
#define MG_STREAM_FIXUPS	8

static enum cpuhp_state mg_stream_hotplug;	/* constant */
static struct workqueue_struct *mg_stream_wq;	/* constant */

static void mg_stream_fixup_soon(struct mg_stream *stream)
{
	queue_work(mg_stream_wq, &stream->fixup);
}

static void mg_stream_wakeup(struct work_struct *work)
{
	struct mg_stream *stream = container_of(work, struct mg_stream, wakeup);

	wake_up_interruptible_poll(stream->wait, EPOLLIN | EPOLLRDNORM);
}

/* In hard interrupt context even on PREEMPT_RT, where readers cannot be woken from it. */
static void mg_stream_wake(struct irq_work *work)
{
	struct mg_stream *stream = container_of(work, struct mg_stream, cpus.wake);
	int cpu = smp_processor_id();
	const struct mg_now begin = mg_now_of(cpu);

	if (READ_ONCE(stream->cpus.failed))
		mg_stream_fixup_soon(stream);
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		queue_work(system_dfl_wq, &stream->wakeup);
	else
		mg_stream_wakeup(&stream->wakeup);
	mg_throttle_charge(cpu, &begin);
}

/*
 * A task may hold mg_group.mutex for a long time, in a page fault, or while it waits
 * for this work to complete.
 */
static void mg_stream_fixup(struct work_struct *work)
{
	struct mg_stream *stream = container_of(work, struct mg_stream, fixup);

	/* The timer of a delayed work may wait for the threads of its CPU, in ksoftirqd. */
	msleep(READ_ONCE(stream->delay));
	/* The members of a CPU that goes offline have moved only after it is offline. */
	cpus_read_lock();
	cpus_read_unlock();
	if (!mutex_trylock(&stream->group->mutex)) {
		mg_stream_fixup_soon(stream);
		return;
	}
	if (READ_ONCE(stream->cpus.failed)) {
		/* Beyond max_sweep_rate, it is done later. */
		if (stream->limit && mg_limit_wait(stream->limit, true)) {
			mg_stream_fixup_soon(stream);
		} else {
			WRITE_ONCE(stream->cpus.failed, false);
			mg_sweep(stream->group, NULL, stream->limit);
		}
	}
	mg_stream_update(stream);
	mutex_unlock(&stream->group->mutex);
}

/**
 * mg_stream_create - create a stream that is stopped
 * @group:	the meta-group, which outlives it
 * @limit:	limits of the user, which outlive it; or NULL
 * @wait:	wait queue of its readers, which outlives it
 *
 * Context: Process context, may sleep.
 * Return: the stream, or ERR_PTR(-ENOMEM).
 */
struct mg_stream *mg_stream_create(struct mg_group *group, struct mg_limit *limit,
				   wait_queue_head_t *wait)
{
	struct mg_stream *stream;
	unsigned int cpu;

	stream = kzalloc(sizeof(*stream), GFP_KERNEL_ACCOUNT);
	if (!stream)
		return ERR_PTR(-ENOMEM);
	/* Memory with a power-of-two size is aligned to it, as struct mg_stream_cpu requires. */
	stream->cpus.on_cpu = kvcalloc(roundup_pow_of_two(nr_cpu_ids),
				       sizeof(*stream->cpus.on_cpu), GFP_KERNEL_ACCOUNT);
	if (!stream->cpus.on_cpu || !zalloc_cpumask_var(&stream->skipped, GFP_KERNEL_ACCOUNT)) {
		kvfree(stream->cpus.on_cpu);
		kfree(stream);
		return ERR_PTR(-ENOMEM);
	}

	stream->group = group;
	stream->limit = limit;
	stream->delay = MG_STREAM_FIXUP_MS;
	spin_lock_init(&stream->rings_lock);
	stream->wait = wait;
	stream->cpus.wake = IRQ_WORK_INIT_HARD(mg_stream_wake);
	INIT_WORK(&stream->wakeup, mg_stream_wakeup);
	INIT_WORK(&stream->fixup, mg_stream_fixup);
	mg_idle_init(&stream->cpus.on_idle, mg_stream_idle_enter, mg_stream_idle_exit);
	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		mg_stream_cpu_init(&stream->cpus.on_cpu[cpu], &stream->cpus, cpu);
	return stream;
}

static void mg_stream_free_rings(struct mg_stream *stream)
{
	struct mg_pages *pages;
	unsigned int cpu;

	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		struct mg_ring *ring = &stream->cpus.on_cpu[cpu].ring;

		spin_lock(&stream->rings_lock);
		pages = ring->pages;
		ring->pages = NULL;
		spin_unlock(&stream->rings_lock);
		if (pages)
			mg_pages_put(pages);
	}
}

/**
 * mg_stream_destroy - stop and free a stream
 * @stream:	no other user is left; or NULL
 *
 * Context: Process context, may sleep. Takes mg_group.mutex.
 */
void mg_stream_destroy(struct mg_stream *stream)
{
	if (!stream)
		return;
	/* The fixup work must not arm timers meanwhile. */
	mutex_lock(&stream->group->mutex);
	mg_stream_stop(stream);
	mutex_unlock(&stream->group->mutex);
	free_cpumask_var(stream->skipped);
	kvfree(stream->cpus.on_cpu);
	kfree(stream);
}

/* File offset of the ring of @cpu, in pages. */
static unsigned long mg_stream_offset(const struct mg_stream *stream, int cpu)
{
	return (PERF_METAGROUP_RINGS >> PAGE_SHIFT) +
	       cpu * (1 + (stream->ring_size >> PAGE_SHIFT));
}

/**
 * mg_stream_reserve - allocate the ring of a CPU
 * @stream:	the stream, running or not; or NULL
 * @cpu:	the CPU
 *
 * Context: Process context, may sleep. mg_group.mutex is held. Takes rings_lock.
 * Return: 0, -ENOMEM, -EPERM or -EINTR.
 */
int mg_stream_reserve(struct mg_stream *stream, int cpu)
{
	struct mg_ring ring;
	int err;

	if (!stream || !stream->cpus.running || stream->cpus.on_cpu[cpu].ring.pages ||
	    cpumask_test_cpu(cpu, stream->skipped))
		return 0;
	err = mg_ring_init(&ring, stream->ring_size, stream->overwrite,
			   mg_stream_offset(stream, cpu), cpu_to_node(cpu), &stream->memlock);
	if (err)
		return err;
	spin_lock(&stream->rings_lock);
	stream->cpus.on_cpu[cpu].ring = ring;
	spin_unlock(&stream->rings_lock);
	return 0;
}

struct mg_stream_arm {
	struct mg_stream *stream;
	u64 deadline;
};

static void mg_stream_arm(void *info)
{
	const struct mg_stream_arm *arm = info;
	struct mg_stream_cpu *this = &arm->stream->cpus.on_cpu[smp_processor_id()];

	/* An idle CPU has deadlines again when it leaves idle. */
	if (!this->idle)
		mg_stream_cpu_arm(this, arm->deadline);
}

/* Start deadlines on all CPUs that have a ring and members, but no deadlines yet. */
static void mg_stream_arm_all(struct mg_stream *stream, u64 deadline)
{
	struct mg_stream_arm arm = { .stream = stream, .deadline = deadline };
	struct mg_group *group = stream->group;
	int cpu;

	cpus_read_lock();
	cpumask_and(group->tmp_mask, group->cpus.mask, cpu_online_mask);
	for_each_cpu(cpu, group->cpus.mask) {
		const struct mg_stream_cpu *this = &stream->cpus.on_cpu[cpu];

		if (!this->ring.pages || READ_ONCE(this->armed))
			cpumask_clear_cpu(cpu, group->tmp_mask);
	}
	on_each_cpu_mask(group->tmp_mask, mg_stream_arm, &arm, true);
	mg_limit_charge(stream->limit, cpumask_weight(group->tmp_mask));
	cpus_read_unlock();
}

/**
 * mg_stream_update - start deadlines on CPUs that have got members
 * @stream:	the stream, running or not; or NULL
 *
 * Context: Process context, may sleep. mg_group.mutex is held. Takes
 * cpu_hotplug_lock and rings_lock.
 */
void mg_stream_update(struct mg_stream *stream)
{
	bool missing = false;
	int cpu;

	if (!stream || !stream->cpus.running)
		return;
	/* Rings for CPUs to which members have moved; if there is no memory, later. */
	for_each_cpu(cpu, stream->group->cpus.mask)
		if (mg_stream_reserve(stream, cpu))
			missing = true;
	WRITE_ONCE(stream->delay, missing ? min(2 * stream->delay, MG_STREAM_RETRY_MS) :
					    MG_STREAM_FIXUP_MS);
	if (missing)
		mg_stream_fixup_soon(stream);
	mg_stream_arm_all(stream, 0);
}

/* From now on, members must fit into rings of @ring_size; U32_MAX for no rings. */
static void mg_stream_set_room(struct mg_stream *stream, u32 ring_size)
{
	unsigned int cpu;

	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		stream->group->cpus.on_cpu[cpu].max_room =
			cpumask_test_cpu(cpu, stream->skipped) ? U32_MAX : ring_size;
}

static int mg_stream_reserve_all(struct mg_stream *stream)
{
	const struct mg_cpus *cpus = &stream->group->cpus;
	int cpu, err;

	for_each_cpu(cpu, cpus->mask) {
		if (!mg_cpu_has_room(&cpus->on_cpu[cpu], cpus->on_cpu[cpu].sample_room))
			return -ENOSPC;
		err = mg_stream_reserve(stream, cpu);
		if (err)
			return err;
	}
	return 0;
}

/**
 * mg_stream_start - start a stream
 * @stream:	the stream
 * @arg:	the user's arguments, checked; first, map_offset and map_stride are set
 *
 * Context: Process context, may sleep. mg_group.mutex is held. Takes
 * cpu_hotplug_lock, mg_idle_mutex and rings_lock.
 * Return: 0, -EBUSY, -ENOSPC, -EUSERS, -ENOMEM, -EPERM or -EINTR.
 */
int mg_stream_start(struct mg_stream *stream, struct perf_metagroup_stream *arg)
{
	struct mg_group *group = stream->group;
	unsigned int cpu;
	int err;

	if (stream->cpus.running)
		return -EBUSY;
	if (!mg_limit_add_stream(stream->limit))
		return -EUSERS;

	mg_memlock_set(&stream->memlock, stream->limit);
	stream->cpus.period = arg->period;
	stream->ring_size = arg->ring_size;
	stream->cpus.watermark = arg->watermark ?: arg->ring_size / 2;
	stream->overwrite = arg->flags & PERF_METAGROUP_STREAM_OVERWRITE;
	stream->cpus.quiet = group->mode & PERF_METAGROUP_MODE_QUIET;
	stream->cpus.woken = 0;
	stream->cpus.failed = false;
	if (group->mode & PERF_METAGROUP_MODE_SKIP_ISOLATED)
		cpumask_copy(stream->skipped, group->skipped);
	else
		cpumask_clear(stream->skipped);
	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		stream->cpus.on_cpu[cpu].on_cpu = &group->cpus.on_cpu[cpu];

	WRITE_ONCE(stream->cpus.running, true);
	mg_stream_set_room(stream, stream->ring_size);
	err = mg_stream_reserve_all(stream);
	if (!err && stream->cpus.quiet)
		err = mg_idle_join(&stream->cpus.on_idle);
	if (!err)
		err = cpuhp_state_add_instance_nocalls(mg_stream_hotplug, &stream->hotplug);
	if (err)
		goto undo;

	arg->first = (div64_u64(ktime_get_ns() + MG_STREAM_LEAD, arg->period) + 1) * arg->period;
	mg_stream_arm_all(stream, arg->first);

	arg->map_offset = PERF_METAGROUP_RINGS;
	arg->map_stride = PAGE_SIZE + stream->ring_size;
	return 0;

undo:
	WRITE_ONCE(stream->cpus.running, false);
	mg_stream_set_room(stream, U32_MAX);
	mg_idle_leave(&stream->cpus.on_idle);
	mg_stream_free_rings(stream);
	mg_memlock_clear(&stream->memlock);
	mg_limit_remove_stream(stream->limit);
	return err;
}

/**
 * mg_stream_stop - stop a stream
 * @stream:	the stream, running or not
 *
 * No CPU refers to @stream when this returns. Its rings stay as long as they are
 * mapped.
 *
 * Context: Process context, may sleep. mg_group.mutex is held. Takes
 * cpu_hotplug_lock, mg_idle_mutex and mg_cpu.lock.
 * Return: the number of lost deadlines that no ring reports.
 */
u64 mg_stream_stop(struct mg_stream *stream)
{
	unsigned int cpu;
	u64 lost = 0;

	if (!stream->cpus.running)
		return 0;
	WRITE_ONCE(stream->cpus.running, false);
	mg_stream_set_room(stream, U32_MAX);
	cpuhp_state_remove_instance_nocalls(mg_stream_hotplug, &stream->hotplug);
	mg_idle_leave(&stream->cpus.on_idle);
	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		if (!stream->cpus.on_cpu[cpu].ring.pages)
			continue;
		mg_stream_cpu_cancel(&stream->cpus.on_cpu[cpu]);
		lost += mg_stream_cpu_flush(&stream->cpus.on_cpu[cpu]);
	}
	irq_work_sync(&stream->cpus.wake);
	cancel_work_sync(&stream->wakeup);
	cancel_work_sync(&stream->fixup);
	mg_stream_free_rings(stream);
	mg_memlock_clear(&stream->memlock);
	wake_up_interruptible_poll(stream->wait, EPOLLHUP);
	mg_limit_remove_stream(stream->limit);
	return lost;
}

static int mg_stream_online(unsigned int cpu, struct hlist_node *node)
{
	struct mg_stream *stream = hlist_entry(node, struct mg_stream, hotplug);
	struct mg_stream_cpu *this = &stream->cpus.on_cpu[cpu];
	bool ring;

	spin_lock(&stream->rings_lock);
	ring = this->ring.pages;
	spin_unlock(&stream->rings_lock);
	local_irq_disable();
	if (ring)
		mg_stream_cpu_arm(this, 0);
	local_irq_enable();
	return 0;
}

static int mg_stream_offline(unsigned int cpu, struct hlist_node *node)
{
	struct mg_stream *stream = hlist_entry(node, struct mg_stream, hotplug);

	mg_stream_cpu_offline(&stream->cpus.on_cpu[cpu]);
	/* PMUs may move members to a CPU that has no deadlines yet. */
	WRITE_ONCE(stream->cpus.failed, true);
	mg_stream_fixup_soon(stream);
	return 0;
}

/**
 * mg_stream_init - measure the cost of timers, and follow CPU hotplug
 *
 * Return: 0 or an error.
 */
int __init mg_stream_init(void)
{
	int state;

	mg_throttle_init();
	/* Unbound: this work must not depend on any particular CPU. */
	mg_stream_wq = alloc_workqueue("perf_metagroup_stream", WQ_UNBOUND, MG_STREAM_FIXUPS);
	if (!mg_stream_wq)
		return -ENOMEM;
	state = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "perf/metagroup:online",
					mg_stream_online, mg_stream_offline);
	if (state < 0) {
		destroy_workqueue(mg_stream_wq);
		return state;
	}
	mg_stream_hotplug = state;
	return 0;
}

/**
 * mg_stream_exit - undo mg_stream_init()
 */
void mg_stream_exit(void)
{
	cpuhp_remove_multi_state(mg_stream_hotplug);
	destroy_workqueue(mg_stream_wq);
}
