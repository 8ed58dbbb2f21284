// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work that CPUs do themselves, a few at a time, while a task waits. Opening or
 * releasing an event from another CPU interrupts the CPU of the event and waits for
 * it; on that CPU it is a function call.
 */
#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>

#include "compat/isolation.h"
#include "set/cpu_work.h"

/* A CPU that real-time tasks keep from starting by then is interrupted. */
#define MG_CPU_WORK_TIMEOUT	(HZ / 5)

/* CPUs that open software events spin on a mutex of perf, so only a few do at a time. */
#define MG_CPU_WORKS_AT_ONCE	4U

/* Queue the next work that no CPU has yet, if there is any. */
static void mg_cpu_works_queue(struct mg_cpu_works *works)
{
	struct mg_cpu_work *work;
	u32 i;

	while ((i = atomic_fetch_inc(&works->next)) < works->count) {
		work = &works->work[i];
		if (!work->own_cpu)
			continue;
		/* If the CPU goes offline meanwhile, another CPU does the work. */
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
	/* The caller flushes this work, and so waits for what it queues. */
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
 * Wait for all work. Return: as wait_for_completion_interruptible_timeout(); 0 means
 * that no work was completed for that time.
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
 * mg_cpu_works_run - let each CPU do its work, and wait
 * @works:	with @func
 * @work:	with @cpu and @item; a CPU may have several
 * @count:	entries of @work
 * @interruptible:	return early on a signal
 *
 * The caller does the work of offline and isolated CPUs, of its own CPU, and of CPUs
 * that do not begin in time, so @func must not rely on the current CPU.
 *
 * Context: Process context, may sleep.
 * Return: 0, or -EINTR if some work was not begun because of a signal.
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
	 * From now on, only running work queues other work, which follows it in the
	 * array. So no work is running or queued after this loop.
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
