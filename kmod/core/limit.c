// SPDX-License-Identifier: GPL-2.0-only
/*
 * A sweep interrupts many CPUs, so a user without CAP_PERFMON may sweep all CPUs only
 * max_sweep_rate times per second. All other operations that interrupt CPUs are charged
 * to the same budget, in proportion to the number of CPUs. Such a user may have
 * MG_LIMIT_STREAMS streams. The events of sets have no descriptors that RLIMIT_NOFILE
 * counts, and perf does not account their memory, so such a user may have at most
 * max_set_events. All handles of a user share these limits.
 *
 * The rate is limited by GCRA: @due advances by 1 s / rate with each call and never lags
 * behind the clock. A call may run up to MG_LIMIT_BURST before @due. It is first charged
 * for all CPUs, so that concurrent calls do not find the same @due; afterwards the charge
 * is corrected to the CPUs that it has interrupted.
 */
#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "core/limit.h"

#define MG_LIMIT_BURST		((s64)10 * NSEC_PER_MSEC)
#define MG_LIMIT_STREAMS	64

static unsigned int max_sweep_rate = 100000;
module_param(max_sweep_rate, uint, 0644);
MODULE_PARM_DESC(max_sweep_rate,
		 "sweeps of all CPUs per second for a user without CAP_PERFMON, 0 for no limit (100000)");

static unsigned int max_set_events = 65536;
module_param(max_set_events, uint, 0644);
MODULE_PARM_DESC(max_set_events,
		 "events in sets for a user without CAP_PERFMON, on all CPUs together (65536)");

/* The default of the sysctl perf_event_mlock_kb. */
static unsigned int max_ring_kb = 512 + PAGE_SIZE / 1024;
module_param(max_ring_kb, uint, 0644);
MODULE_PARM_DESC(max_ring_kb,
		 "kB of rings per CPU for a user without CAP_PERFMON, beyond RLIMIT_MEMLOCK (516)");

/**
 * struct mg_limit - the limits of one user
 * @list:	entry in the list of limits; mg_limits_mutex
 * @uses:	open handles, and members of sets, that use the limit; mg_limits_mutex
 * @user:	the user; constant
 * @streams:	running streams; atomic
 * @ring_pages:	pages of rings that are charged to max_ring_kb; atomic
 * @events:	events in sets; mg_limits_mutex
 * @due:	when the next call is due, CLOCK_MONOTONIC in ns; atomic
 */
struct mg_limit {
	struct list_head list;
	unsigned int uses;
	kuid_t user;
	atomic_t streams;
	atomic_long_t ring_pages;
	unsigned int events;
	atomic64_t due;
};

static DEFINE_MUTEX(mg_limits_mutex);	/* nests with no other lock */
static LIST_HEAD(mg_limits);		/* mg_limits_mutex */

/*
 * The user of the initial user namespace who is responsible for the current
 * task: subordinate user ids must not multiply the rate of their owner.
 */
static kuid_t mg_limit_user(void)
{
	const struct user_namespace *ns = current_user_ns();
	kuid_t user = current_uid();

	for (; ns->parent; ns = ns->parent)
		user = ns->owner;
	return user;
}

/*
 * Find the limit of @user, and free unused limits on the way. An unused limit
 * stays until @due has passed, so that closing and opening a handle does not reset
 * it.
 */
static struct mg_limit *mg_limit_find(kuid_t user)
{
	struct mg_limit *limit, *next, *found = NULL;
	s64 now = ktime_get_ns();

	list_for_each_entry_safe(limit, next, &mg_limits, list) {
		if (uid_eq(limit->user, user)) {
			found = limit;
		} else if (!limit->uses && atomic64_read(&limit->due) <= now) {
			list_del(&limit->list);
			kfree(limit);
		}
	}
	return found;
}

/**
 * mg_limit_get - get the limit for a handle that the current task opens
 *
 * Context: Process context, may sleep. Takes mg_limits_mutex.
 * Return: a reference, NULL if there is no limit because of CAP_PERFMON, or
 * ERR_PTR(-ENOMEM).
 */
struct mg_limit *mg_limit_get(void)
{
	struct mg_limit *limit;
	kuid_t user;

	if (perfmon_capable())
		return NULL;

	user = mg_limit_user();
	mutex_lock(&mg_limits_mutex);
	limit = mg_limit_find(user);
	if (!limit) {
		limit = kzalloc(sizeof(*limit), GFP_KERNEL_ACCOUNT);
		if (!limit) {
			limit = ERR_PTR(-ENOMEM);
			goto unlock;
		}
		limit->user = user;
		list_add(&limit->list, &mg_limits);
	}
	limit->uses++;
unlock:
	mutex_unlock(&mg_limits_mutex);
	return limit;
}

/**
 * mg_limit_put - drop a reference
 * @limit:	the limit, or NULL
 *
 * Context: Process context, may sleep. Takes mg_limits_mutex.
 */
void mg_limit_put(struct mg_limit *limit)
{
	if (!limit)
		return;
	mutex_lock(&mg_limits_mutex);
	limit->uses--;
	mutex_unlock(&mg_limits_mutex);
}

/* The cost of interrupting @nr_cpus CPUs in ns. Interrupting all CPUs costs one sweep. */
static s64 mg_limit_cost(unsigned int rate, u32 nr_cpus)
{
	return div_u64((u64)NSEC_PER_SEC / rate * nr_cpus, num_online_cpus());
}

/**
 * mg_limit_charge - charge for interrupted CPUs without waiting
 * @limit:	the limit, or NULL
 * @nr_cpus:	their number
 *
 * Context: Any.
 */
void mg_limit_charge(struct mg_limit *limit, u32 nr_cpus)
{
	unsigned int rate = READ_ONCE(max_sweep_rate);

	if (limit && rate)
		atomic64_add(mg_limit_cost(rate, nr_cpus), &limit->due);
}

/**
 * mg_limit_add_events - count events that a set opens on a CPU, and charge for it
 * @limit:	the limit, or NULL
 * @nr_events:	their number
 *
 * The limit stays in use until they are removed.
 *
 * Context: Process context, may sleep. Takes mg_limits_mutex.
 * Return: true, or false if the user would exceed max_set_events.
 */
bool mg_limit_add_events(struct mg_limit *limit, u32 nr_events)
{
	unsigned int most = READ_ONCE(max_set_events);
	bool fits;

	if (!limit)
		return true;
	mutex_lock(&mg_limits_mutex);
	fits = limit->events <= most && nr_events <= most - limit->events;
	if (fits) {
		mg_limit_charge(limit, 1);
		limit->events += nr_events;
		limit->uses++;
	}
	mutex_unlock(&mg_limits_mutex);
	return fits;
}

/**
 * mg_limit_remove_events - uncount events that are closed, and charge for it
 * @limit:	the limit, or NULL
 * @nr_events:	their number
 *
 * Context: Process context, may sleep. Takes mg_limits_mutex.
 */
void mg_limit_remove_events(struct mg_limit *limit, u32 nr_events)
{
	if (!limit)
		return;
	mg_limit_charge(limit, 1);
	mutex_lock(&mg_limits_mutex);
	limit->events -= nr_events;
	limit->uses--;
	mutex_unlock(&mg_limits_mutex);
}

/**
 * mg_limit_wait - wait until the next call is within the limit
 * @limit:	the limit
 * @nonblock:	fail instead of waiting
 *
 * The call is charged for all CPUs until mg_limit_settle() is called.
 *
 * Context: Process context, may sleep.
 * Return: 0, -EAGAIN if the caller would have to wait, -ERESTARTSYS on a signal.
 */
int mg_limit_wait(struct mg_limit *limit, bool nonblock)
{
	s64 due = atomic64_read(&limit->due);
	unsigned int rate;
	ktime_t until;
	s64 now;

	while ((rate = READ_ONCE(max_sweep_rate))) {
		now = ktime_get_ns();
		if (due - now <= MG_LIMIT_BURST) {
			if (atomic64_try_cmpxchg(&limit->due, &due,
						 max(due, now) + NSEC_PER_SEC / rate))
				return 0;
			continue;
		}
		if (nonblock)
			return -EAGAIN;

		/* A new rate of 0 applies after a second. */
		until = ns_to_ktime(min(due - MG_LIMIT_BURST, now + NSEC_PER_SEC));
		set_current_state(TASK_INTERRUPTIBLE);
		schedule_hrtimeout_range(&until, current->timer_slack_ns, HRTIMER_MODE_ABS);
		if (signal_pending(current))
			return -ERESTARTSYS;
		due = atomic64_read(&limit->due);
	}
	return 0;
}

/**
 * mg_limit_settle - charge a call for the CPUs that it has interrupted
 * @limit:	the limit, or NULL; mg_limit_wait() has charged it for all CPUs
 * @nr_cpus:	their number
 *
 * Context: Any.
 */
void mg_limit_settle(struct mg_limit *limit, u32 nr_cpus)
{
	unsigned int rate = READ_ONCE(max_sweep_rate);

	if (limit && rate)
		atomic64_add(mg_limit_cost(rate, nr_cpus) - NSEC_PER_SEC / rate, &limit->due);
}

/**
 * mg_limit_add_stream - count a stream that starts
 * @limit:	the limit, or NULL
 *
 * Context: Any.
 * Return: true, or false if the user already has the maximum.
 */
bool mg_limit_add_stream(struct mg_limit *limit)
{
	return !limit || atomic_add_unless(&limit->streams, 1, MG_LIMIT_STREAMS);
}

/**
 * mg_limit_remove_stream - uncount a stream that has stopped
 * @limit:	the limit, or NULL
 *
 * Context: Any.
 */
void mg_limit_remove_stream(struct mg_limit *limit)
{
	if (limit)
		atomic_dec(&limit->streams);
}

/**
 * mg_limit_take_pages - charge pages of rings, as many as max_ring_kb allows
 * @limit:	the limit
 * @pages:	number of pages
 *
 * Context: Any.
 * Return: the number of pages that were charged.
 */
unsigned long mg_limit_take_pages(struct mg_limit *limit, unsigned long pages)
{
	unsigned long most = (u64)READ_ONCE(max_ring_kb) * 1024 / PAGE_SIZE * num_online_cpus();
	long used = atomic_long_read(&limit->ring_pages);
	unsigned long taken;

	do {
		taken = used < most ? min(pages, most - used) : 0;
	} while (!atomic_long_try_cmpxchg(&limit->ring_pages, &used, used + taken));
	return taken;
}

/**
 * mg_limit_give_pages - uncharge pages that were freed
 * @limit:	the limit
 * @pages:	number of pages
 *
 * Context: Any.
 */
void mg_limit_give_pages(struct mg_limit *limit, unsigned long pages)
{
	atomic_long_sub(pages, &limit->ring_pages);
}

/**
 * mg_limit_exit - free all limits
 *
 * Context: The module is unloaded, no handle is open.
 */
void mg_limit_exit(void)
{
	struct mg_limit *limit, *next;

	list_for_each_entry_safe(limit, next, &mg_limits, list)
		kfree(limit);
}
