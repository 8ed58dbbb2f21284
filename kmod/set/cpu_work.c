// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work that CPUs do themselves, a few at the same time, while a task waits. To open
 * or to release an event from another CPU interrupts its CPU, and waits for it; on
 * its own CPU it takes a call.
 */
#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>

#include "compat/isolation.h"
#include "set/cpu_work.h"

/* A CPU that has not begun by then, because of real-time tasks, is interrupted. */
#define MG_CPU_WORK_TIMEOUT	(HZ / 5)

/* CPUs that open software events spin for a mutex of perf, so few do at the same time. */
#define MG_CPU_WORKS_AT_ONCE	4U

/* Give the next work to its CPU, if there is any that no CPU has. */
static void mg_cpu_works_queue(struct mg_cpu_works *works)
{
	struct mg_cpu_work *work;
	u32 i;

	while ((i = atomic_fetch_inc(&works->next)) < works->count) {
		work = &works->work[i];
		if (!work->own_cpu)
			continue;
		/* If it goes offline meanwhile, another CPU does it. */
		queue_work_on(work->cpu, system_highpri_wq, &work->work);
		return;
	}
}

static void mg_cpu_work_do(struct mg_cpu_work *work)
{
	work->works->func(work);
	if (atomic_dec_and_test(&work->works->left))
		complete(&work->works->done);
}

static void mg_cpu_work_func(struct work_struct *item)
{
	struct mg_cpu_work *work = container_of(item, struct mg_cpu_work, work);

	mg_cpu_work_do(work);
	/* The caller flushes this work, and so waits for it. */
	mg_cpu_works_queue(work->works);
}

/* An isolated CPU is interrupted: it has no time for kernel threads. */
static bool mg_cpu_does_work(int cpu)
{
	bool does;

	if (!cpu_online(cpu) || cpu == raw_smp_processor_id())
		return false;
	rcu_read_lock();	/* since 7.0 the masks may be replaced */
	does = housekeeping_cpu(cpu, HK_TYPE_TICK) && housekeeping_cpu(cpu, HK_TYPE_DOMAIN);
	rcu_read_unlock();
	return does;
}

/*
 * Wait for all work. Return: as wait_for_completion_interruptible_timeout(); 0 also
 * means that no work was completed for that time.
 */
static long mg_cpu_works_wait(struct mg_cpu_works *works, bool interruptible)
{
	long time;
	int left;

	do {
		left = atomic_read(&works->left);
		time = MG_CPU_WORK_TIMEOUT;
		time = interruptible ?
		       wait_for_completion_interruptible_timeout(&works->done, time) :
		       wait_for_completion_timeout(&works->done, time);
	} while (!time && atomic_read(&works->left) != left);
	return time;
}

/**
 * mg_cpu_works_run - have each CPU do its work, and wait
 * @works:	with @func
 * @work:	with @cpu and @item; there may be several for a CPU
 * @count:	entries of @work
 * @interruptible:	return early on a signal
 *
 * The caller itself does the work of CPUs that are offline or isolated, of its own
 * CPU, and of CPUs that do not begin in time. So @func must not rely on the CPU.
 *
 * Context: Process context, may sleep.
 * Return: 0, or -EINTR if part of the work was not begun because of a signal.
 */
int mg_cpu_works_run(struct mg_cpu_works *works, struct mg_cpu_work *work, u32 count,
		     bool interruptible)
{
	u32 queued, i;
	long time;

	works->work = work;
	works->count = count;
	atomic_set(&works->next, 0);
	atomic_set(&works->left, count);
	init_completion(&works->done);
	for (i = 0; i < count; i++) {
		work[i].works = works;
		work[i].own_cpu = mg_cpu_does_work(work[i].cpu);
		INIT_WORK(&work[i].work, mg_cpu_work_func);
	}
	if (!count)
		return 0;

	for (i = 0; i < MG_CPU_WORKS_AT_ONCE; i++)
		mg_cpu_works_queue(works);
	for (i = 0; i < count; i++)
		if (!work[i].own_cpu)
			mg_cpu_work_do(&work[i]);
	time = mg_cpu_works_wait(works, interruptible);

	/*
	 * Nothing is queued any more but by work that is running. Such work comes
	 * before what it queues, so no work is running or queued when this is through.
	 */
	queued = min_t(u32, atomic_xchg(&works->next, count), count);
	for (i = 0; i < count; i++) {
		if (!work[i].own_cpu)
			continue;
		if (time > 0)
			flush_work(&work[i].work);
		else if ((i >= queued || cancel_work_sync(&work[i].work)) && !time)
			mg_cpu_work_do(&work[i]);
	}
	return time < 0 ? -EINTR : 0;
}
