// SPDX-License-Identifier: GPL-2.0-only
/*
 * Quiet mode: a CPU that enters idle refreshes the counts of its members. Until
 * it leaves idle, sweeps read them from memory. CPUs that are busy, or whose
 * counts go on while they are idle, are interrupted as in normal mode.
 */
#include <linux/compiler.h>
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>

#include "quiet/quiet.h"

/*
 * Counts are refreshed for meta-groups that were swept within this time. The
 * condition "since the CPU was last idle" would cause more wake-ups: most CPUs
 * enter idle more often than they are swept.
 */
#define MG_QUIET_INTEREST	HZ

static void mg_quiet_enter(struct mg_idle *idle, unsigned int cpu, struct mg_budget *budget)
{
	struct mg_quiet *quiet = container_of(idle, struct mg_quiet, idle);
	struct mg_cpu *on_cpu = &quiet->cpus->on_cpu[cpu];

	if (!READ_ONCE(on_cpu->first) ||
	    time_after_eq(jiffies, READ_ONCE(quiet->last_sweep) + MG_QUIET_INTEREST))
		return;

	raw_spin_lock(&on_cpu->lock);
	mg_cpu_idle_invalidate(on_cpu);
	if (!READ_ONCE(quiet->held) && mg_cpu_idle_refresh(on_cpu, budget))
		/* Pairs with the smp_load_acquire() of mg_cpu_read_idle(). */
		smp_store_release(&on_cpu->idle_seq, on_cpu->idle_seq + 1);
	raw_spin_unlock(&on_cpu->lock);
}

static void mg_quiet_exit(struct mg_idle *idle, unsigned int cpu)
{
	struct mg_quiet *quiet = container_of(idle, struct mg_quiet, idle);
	struct mg_cpu *on_cpu = &quiet->cpus->on_cpu[cpu];
	unsigned long flags;

	if (!(READ_ONCE(on_cpu->idle_seq) & 1))
		return;
	raw_spin_lock_irqsave(&on_cpu->lock, flags);
	mg_cpu_idle_invalidate(on_cpu);
	raw_spin_unlock_irqrestore(&on_cpu->lock, flags);
}

/**
 * mg_quiet_init - initialize; the meta-group is not quiet
 * @quiet:	of the meta-group
 * @cpus:	of the same meta-group
 */
void mg_quiet_init(struct mg_quiet *quiet, struct mg_cpus *cpus)
{
	mg_idle_init(&quiet->idle, mg_quiet_enter, mg_quiet_exit);
	quiet->cpus = cpus;
}

/**
 * mg_quiet_hold - stop CPUs from refreshing counts until mg_quiet_release()
 * @quiet:	of the meta-group
 *
 * No refresh is in progress when this returns.
 *
 * Context: mg_group.mutex is held. Takes mg_cpu.lock.
 */
void mg_quiet_hold(struct mg_quiet *quiet)
{
	int cpu;

	WRITE_ONCE(quiet->held, true);
	for_each_cpu(cpu, quiet->cpus->mask) {
		raw_spin_lock_irq(&quiet->cpus->on_cpu[cpu].lock);
		raw_spin_unlock_irq(&quiet->cpus->on_cpu[cpu].lock);
	}
}

/**
 * mg_quiet_release - let CPUs refresh counts again
 * @quiet:	of the meta-group
 *
 * Context: mg_group.mutex is held.
 */
void mg_quiet_release(struct mg_quiet *quiet)
{
	WRITE_ONCE(quiet->held, false);
}

/**
 * mg_quiet_join - make a meta-group quiet
 * @quiet:	of the meta-group
 *
 * Context: Process context, mg_group.mutex is held. Takes mg_idle_mutex.
 * Return: 0, also if it is quiet already; or an error of mg_idle_join().
 */
int mg_quiet_join(struct mg_quiet *quiet)
{
	/* CPUs refresh counts from now on, so that the first sweep finds them. */
	WRITE_ONCE(quiet->last_sweep, jiffies);
	return mg_idle_join(&quiet->idle);
}

/**
 * mg_quiet_leave - make a meta-group no longer quiet
 * @quiet:	of the meta-group, quiet or not
 *
 * Context: Process context, may sleep. mg_group.mutex is held, or @quiet has no
 * other user. Takes mg_idle_mutex and mg_cpu.lock.
 */
void mg_quiet_leave(struct mg_quiet *quiet)
{
	unsigned int cpu;

	if (!mg_idle_leave(&quiet->idle))
		return;

	/* mg_quiet_exit() no longer does it. */
	for_each_possible_cpu(cpu) {
		struct mg_cpu *on_cpu = &quiet->cpus->on_cpu[cpu];

		raw_spin_lock_irq(&on_cpu->lock);
		mg_cpu_idle_invalidate(on_cpu);
		raw_spin_unlock_irq(&on_cpu->lock);
	}
}
