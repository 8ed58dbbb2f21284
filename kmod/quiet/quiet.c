// SPDX-License-Identifier: GPL-2.0-only
/*
 * Quiet mode: a CPU that enters idle refreshes the counts of its members. Until
 * it leaves idle, sweeps read them from memory. CPUs that are busy, or whose
 * counts continue while they are idle, are interrupted as in normal mode.
 */
#include <linux/compiler.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/slab.h>

#include "core/group.h"
#include "core/layers.h"
#include "quiet/idle.h"
#include "quiet/idle_read.h"
#include "quiet/quiet.h"

/*
 * Counts are refreshed for meta-groups that were swept within this time. Requiring a
 * sweep since the CPU was last idle would cause more wake-ups: most CPUs enter idle
 * more often than they are swept.
 */
#define MG_QUIET_INTEREST	HZ

/**
 * struct mg_quiet - quiet mode of a meta-group
 * @idle:	callbacks of idle CPUs
 * @cpus:	CPUs of the meta-group; constant
 * @last_sweep:	time of the last sweep in jiffies; mg_group.mutex, READ_ONCE() by
 *		CPUs that enter idle
 * @held:	CPUs do not refresh counts; as @last_sweep
 */
struct mg_quiet {
	struct mg_idle idle;
	struct mg_cpus *cpus;
	unsigned long last_sweep;
	bool held;
};

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

/*
 * A sweep reads members of idle CPUs from memory. Each CPU that enters idle reads
 * @last_sweep, so it is written only if it changes.
 */
static void mg_quiet_read_idle(struct mg_group *group)
{
	struct mg_quiet *quiet = group->quiet;
	unsigned long now = jiffies;
	int cpu;

	if (quiet->last_sweep != now)
		WRITE_ONCE(quiet->last_sweep, now);
	for_each_cpu(cpu, group->targets)
		if (mg_cpu_read_idle(&group->cpus, cpu))
			cpumask_clear_cpu(cpu, group->ipi_mask);
}

/* When this returns, CPUs do not refresh counts until mg_quiet_release(). */
static void mg_quiet_hold(struct mg_group *group)
{
	int cpu;

	WRITE_ONCE(group->quiet->held, true);
	for_each_cpu(cpu, group->cpus.mask) {
		raw_spin_lock_irq(&group->cpus.on_cpu[cpu].lock);
		raw_spin_unlock_irq(&group->cpus.on_cpu[cpu].lock);
	}
}

static void mg_quiet_release(struct mg_group *group)
{
	WRITE_ONCE(group->quiet->held, false);
}

static void mg_quiet_free(struct mg_group *group)
{
	mg_quiet_leave(group);
	kfree(group->quiet);
}

static const struct mg_quiet_ops mg_quiet_ops = {
	.read_idle = mg_quiet_read_idle,
	.hold = mg_quiet_hold,
	.release = mg_quiet_release,
	.free = mg_quiet_free,
};

static int mg_quiet_create(struct mg_group *group)
{
	struct mg_quiet *quiet = kzalloc(sizeof(*quiet), GFP_KERNEL_ACCOUNT);

	if (!quiet)
		return -ENOMEM;
	mg_idle_init(&quiet->idle, mg_quiet_enter, mg_quiet_exit);
	quiet->cpus = &group->cpus;
	group->quiet = quiet;
	group->quiet_ops = &mg_quiet_ops;
	return 0;
}

/**
 * mg_quiet_join - make a meta-group quiet
 * @group:	the meta-group
 *
 * Context: Process context, mg_group.mutex is held. Takes mg_idle_mutex.
 * Return: 0, also if it is already quiet; -ENOMEM; or an error of mg_idle_join().
 */
int mg_quiet_join(struct mg_group *group)
{
	int err = group->quiet ? 0 : mg_quiet_create(group);

	if (err)
		return err;
	/* CPUs refresh counts from now on, so that the first sweep finds them. */
	WRITE_ONCE(group->quiet->last_sweep, jiffies);
	return mg_idle_join(&group->quiet->idle);
}

/**
 * mg_quiet_leave - make a meta-group no longer quiet
 * @group:	the meta-group, quiet or not
 *
 * Context: Process context, may sleep. mg_group.mutex is held, or @group has no other
 * user. Takes mg_idle_mutex and mg_cpu.lock.
 */
void mg_quiet_leave(struct mg_group *group)
{
	unsigned int cpu;

	if (!group->quiet || !mg_idle_leave(&group->quiet->idle))
		return;

	/* mg_quiet_exit() no longer does it. */
	for_each_possible_cpu(cpu) {
		struct mg_cpu *on_cpu = &group->cpus.on_cpu[cpu];

		raw_spin_lock_irq(&on_cpu->lock);
		mg_cpu_idle_invalidate(on_cpu);
		raw_spin_unlock_irq(&on_cpu->lock);
	}
}
