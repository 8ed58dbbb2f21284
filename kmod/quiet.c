// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CPU on its way to sleep refreshes the counts of its members and says so; a
 * sweep then takes them from memory, from its own CPU. A CPU that is awake, or
 * whose sleep cannot be trusted, is interrupted as ever.
 *
 * The tracepoint cpu_idle is called on the CPU itself, while RCU watches, before
 * every sleep, with interrupts off, and after it, in older kernels with
 * interrupts on.
 */
#include <linux/compiler.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/tracepoint.h>
#include <trace/events/power.h>

#include "quiet.h"
#include "read.h"

static DEFINE_MUTEX(mg_quiet_mutex);	/* inside mg_group.mutex */
static LIST_HEAD(mg_quiet_groups);	/* mg_quiet_mutex; readers: RCU */
static unsigned int mg_nr_quiet;	/* mg_quiet_mutex */

static void mg_quiet_fall_asleep(struct mg_cpu *on_cpu)
{
	raw_spin_lock(&on_cpu->lock);
	mg_quiet_wake(on_cpu);
	if (!mg_read_ahead(on_cpu))
		/* Pairs with the first look in mg_quiet_read(). */
		smp_store_release(&on_cpu->naps, on_cpu->naps + 1);
	raw_spin_unlock(&on_cpu->lock);
}

static void mg_quiet_wake_up(struct mg_cpu *on_cpu)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&on_cpu->lock, flags);
	mg_quiet_wake(on_cpu);
	raw_spin_unlock_irqrestore(&on_cpu->lock, flags);
}

static void mg_quiet_cpu_idle(void *data, unsigned int state, unsigned int cpu)
{
	struct mg_group *group;

	list_for_each_entry_rcu(group, &mg_quiet_groups, quiet) {
		struct mg_cpu *on_cpu = &group->on_cpu[cpu];

		if (!READ_ONCE(on_cpu->first))
			continue;
		if (state == PWR_EVENT_EXIT)
			mg_quiet_wake_up(on_cpu);
		else
			mg_quiet_fall_asleep(on_cpu);
	}
}

/* Return: 0, -EUSERS if there are too many, -ENOMEM. */
int mg_quiet_join(struct mg_group *group)
{
	int err = 0;

	mutex_lock(&mg_quiet_mutex);
	if (!list_empty(&group->quiet))
		goto unlock;
	if (mg_nr_quiet == MG_MAX_QUIET) {
		err = -EUSERS;
		goto unlock;
	}
	if (!mg_nr_quiet) {
		err = register_trace_cpu_idle(mg_quiet_cpu_idle, NULL);
		if (err)
			goto unlock;
	}
	mg_nr_quiet++;
	list_add_rcu(&group->quiet, &mg_quiet_groups);
unlock:
	mutex_unlock(&mg_quiet_mutex);
	return err;
}

/* No CPU looks at @group any more when this returns. */
void mg_quiet_leave(struct mg_group *group)
{
	unsigned int cpu;

	mutex_lock(&mg_quiet_mutex);
	if (list_empty(&group->quiet))
		goto unlock;
	list_del_rcu(&group->quiet);
	if (!--mg_nr_quiet)
		unregister_trace_cpu_idle(mg_quiet_cpu_idle, NULL);
	tracepoint_synchronize_unregister();
	INIT_LIST_HEAD(&group->quiet);

	/* Nobody will tell when those asleep wake up. */
	for_each_possible_cpu(cpu) {
		raw_spin_lock_irq(&group->on_cpu[cpu].lock);
		mg_quiet_wake(&group->on_cpu[cpu]);
		raw_spin_unlock_irq(&group->on_cpu[cpu].lock);
	}
unlock:
	mutex_unlock(&mg_quiet_mutex);
}

/**
 * mg_quiet_read - read the members of a CPU that sleeps, from here
 * @group:	whose mutex is held, between mg_snapshot_write_begin() and _end()
 * @cpu:	one with members
 *
 * Return: whether it slept all the while and its records are up to date. If
 * not, they are to be written anew.
 */
bool mg_quiet_read(struct mg_group *group, int cpu)
{
	struct mg_cpu *on_cpu = &group->on_cpu[cpu];
	u32 naps;

	/* Pairs with mg_quiet_fall_asleep(): what was read then is seen. */
	naps = smp_load_acquire(&on_cpu->naps);
	if (!(naps & 1))
		return false;
	/*
	 * Interrupted asleep, it is still on its way to say that it woke. Should
	 * @asleep change meanwhile, so does @naps, here and in mg_read_asleep().
	 */
	if (data_race(on_cpu->asleep.mono) < on_cpu->swept)
		return false;

	if (!mg_read_asleep(group, cpu))
		return false;
	smp_rmb();	/* pairs with mg_quiet_wake() */
	return READ_ONCE(on_cpu->naps) == naps;
}
