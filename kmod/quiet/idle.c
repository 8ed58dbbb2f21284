// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tracepoint cpu_idle is called on the CPU itself while RCU is watching: before
 * the CPU idles, with interrupts off, and afterwards, in older kernels with
 * interrupts on.
 */
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/tracepoint.h>
#include <trace/events/power.h>

#include "compat/workqueue.h"
#include "quiet/idle.h"

/* Limits of the work before a CPU enters idle, for all meta-groups and streams together. */
#define MG_MAX_IDLE		64	/* quiet meta-groups and streams */
#define MG_MAX_IDLE_MEMBERS	64	/* members that are visited */
#define MG_MAX_IDLE_EVENTS	64	/* events that are read */

/*
 * The probe stays for this time without a user: registering and unregistering it
 * patches code, which interrupts all CPUs.
 */
#define MG_IDLE_LINGER		(5 * HZ)

static DEFINE_MUTEX(mg_idle_mutex);	/* nests inside mg_group.mutex */
static LIST_HEAD(mg_idle_list);		/* mg_idle_mutex; readers: RCU */
static unsigned int mg_nr_idle;		/* mg_idle_mutex */
static bool mg_idle_registered;		/* mg_idle_mutex */

static void mg_idle_probe(void *data, unsigned int state, unsigned int cpu)
{
	struct mg_budget budget = {
		.members = MG_MAX_IDLE_MEMBERS,
		.events = MG_MAX_IDLE_EVENTS,
	};
	struct mg_idle *idle;

	list_for_each_entry_rcu(idle, &mg_idle_list, list) {
		if (state == PWR_EVENT_EXIT)
			idle->exit(idle, cpu);
		else
			idle->enter(idle, cpu, &budget);
	}
}

static void mg_idle_unregister(struct work_struct *work)
{
	mutex_lock(&mg_idle_mutex);
	if (mg_idle_registered && !mg_nr_idle) {
		unregister_trace_cpu_idle(mg_idle_probe, NULL);
		mg_idle_registered = false;
	}
	mutex_unlock(&mg_idle_mutex);
}

static DECLARE_DELAYED_WORK(mg_idle_work, mg_idle_unregister);

/**
 * mg_idle_init - initialize; CPUs do not call @idle yet
 * @idle:	to be initialized
 * @enter:	see struct mg_idle
 * @exit:	see struct mg_idle
 */
void mg_idle_init(struct mg_idle *idle,
		  void (*enter)(struct mg_idle *idle, unsigned int cpu,
				struct mg_budget *budget),
		  void (*exit)(struct mg_idle *idle, unsigned int cpu))
{
	INIT_LIST_HEAD(&idle->list);
	idle->enter = enter;
	idle->exit = exit;
}

/**
 * mg_idle_join - let CPUs call @idle
 * @idle:	to be called
 *
 * Context: Process context, may sleep. Takes mg_idle_mutex.
 * Return: 0, also if they already do; -EUSERS if there are too many users; or -ENOMEM.
 */
int mg_idle_join(struct mg_idle *idle)
{
	int err = 0;

	mutex_lock(&mg_idle_mutex);
	if (!list_empty(&idle->list))
		goto unlock;
	if (mg_nr_idle == MG_MAX_IDLE) {
		err = -EUSERS;
		goto unlock;
	}
	if (!mg_idle_registered) {
		err = register_trace_cpu_idle(mg_idle_probe, NULL);
		if (err)
			goto unlock;
		mg_idle_registered = true;
	}
	mg_nr_idle++;
	list_add_rcu(&idle->list, &mg_idle_list);
unlock:
	mutex_unlock(&mg_idle_mutex);
	return err;
}

/**
 * mg_idle_leave - stop CPUs from calling @idle
 * @idle:	called or not
 *
 * No CPU refers to @idle when this returns.
 *
 * Context: Process context, may sleep. Takes mg_idle_mutex. No other task joins or
 * leaves with @idle.
 * Return: true if CPUs called it until now.
 */
bool mg_idle_leave(struct mg_idle *idle)
{
	if (list_empty(&idle->list))
		return false;

	mutex_lock(&mg_idle_mutex);
	list_del_rcu(&idle->list);
	if (!--mg_nr_idle)
		mod_delayed_work(system_dfl_wq, &mg_idle_work, MG_IDLE_LINGER);
	mutex_unlock(&mg_idle_mutex);

	/* Outside the mutex, so that other tasks do not wait. */
	tracepoint_synchronize_unregister();
	INIT_LIST_HEAD(&idle->list);
	return true;
}

/**
 * mg_idle_exit - unregister the probe
 *
 * Context: The module is unloaded, no meta-group exists.
 */
void mg_idle_exit(void)
{
	cancel_delayed_work_sync(&mg_idle_work);
	mg_idle_unregister(NULL);
	tracepoint_synchronize_unregister();
}
