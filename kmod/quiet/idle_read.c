// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading members when a CPU enters idle, and from memory while it is idle.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/minmax.h>
#include <linux/smp.h>

#include "core/cpu.h"
#include "core/layers.h"
#include "core/read.h"
#include "quiet/idle.h"
#include "quiet/idle_read.h"

static int mg_idle_spend(const struct mg_plan *plan, struct mg_budget *budget)
{
	if (!plan->idle_stable)
		return -EBUSY;
	if (plan->nr_reads > budget->events)
		return -ENOSPC;
	budget->events -= plan->nr_reads;
	return 0;
}

/*
 * Bring event->count of a member up to date. mg_plan_lock() has locked @ctx. Return: 0,
 * also for a group that does not count; -EBUSY if its counts continue while the CPU is
 * idle; or another error, see read.h.
 */
static int mg_idle_update(const struct mg_member *member, struct perf_event_context *ctx,
			  int cpu, struct mg_budget *budget)
{
	struct mg_plan *plan = member->plan;
	u32 status;

	if (!budget->members)
		return -ENOSPC;
	budget->members--;
	if (member->counter->ops)
		return mg_idle_spend(plan, budget) ?:
			min(member->counter->ops->update(member, ctx, cpu, &status), 0);
	if (!mg_counts_on(plan, cpu))
		return 0;
	return mg_plan_update(plan) ?: mg_idle_spend(plan, budget) ?: mg_refresh(plan);
}

/**
 * mg_cpu_idle_refresh - bring the counts of this CPU up to date before it idles
 * @on_cpu:	this CPU; its lock is held
 * @budget:	what the CPU may still do, for all meta-groups; reduced
 *
 * Context: Interrupts are off. Takes ctx->lock.
 * Return: true if no count changes while the CPU is idle.
 */
bool mg_cpu_idle_refresh(struct mg_cpu *on_cpu, struct mg_budget *budget)
{
	const struct mg_member *member;
	int cpu = smp_processor_id();
	int err = 0;

	on_cpu->idle_now = mg_now_of(cpu);
	for (member = on_cpu->first; member && !err; member = member->next) {
		struct perf_event_context *ctx = mg_plan_lock(member->plan);

		err = mg_idle_update(member, ctx, cpu, budget);
		mg_plan_unlock(ctx);
	}
	return !err;
}

/*
 * Read a member from its memory: at @idle_now, for counts that the CPU refreshed when it
 * entered idle, else @now. After an error, the record is not up to date.
 */
static int mg_read_idle(struct mg_member *member, const struct mg_now *now,
			const struct mg_now *idle_now, const struct mg_sink *sink)
{
	struct mg_plan *plan = member->plan;
	struct perf_event_context *ctx = mg_plan_lock(plan);
	u32 status = PERF_METAGROUP_OK;
	int ret;

	ret = mg_update_any(member, ctx, MG_OTHER_CPU, &status);
	if (ret == -EBUSY && mg_counts_on(plan, member->cpu)) {
		/* Another event of a set may be OFFLINE. */
		if (status == PERF_METAGROUP_OK)
			status = PERF_METAGROUP_IDLE;
		now = idle_now;
		ret = MG_SCOPE_CPU;
	}
	if (ret >= 0)
		mg_write_record(member, sink, status, now, ctx);
	mg_plan_unlock(ctx);
	return ret;
}

/**
 * mg_cpu_read_idle - read members that mg_cpu_idle_refresh() has brought up to date
 * @cpus:	the CPUs
 * @cpu:	the CPU, idle or not
 *
 * Context: mg_group.mutex is held. Takes ctx->lock.
 * Return: true if the CPU was idle throughout and its records are up to date.
 * Otherwise they must be written again.
 */
bool mg_cpu_read_idle(struct mg_cpus *cpus, int cpu)
{
	struct mg_cpu *on_cpu = &cpus->on_cpu[cpu];
	struct mg_now now, idle_now;
	struct mg_member *member;
	u32 seq;
	int ret;

	/* Pairs with the smp_store_release() of mg_quiet_enter(). */
	seq = smp_load_acquire(&on_cpu->idle_seq);
	if (!(seq & 1))
		return false;
	/* If @idle_now changes meanwhile, so does @idle_seq. */
	idle_now = data_race(on_cpu->idle_now);
	/* A sweep has interrupted the CPU since, and has returned newer counts. */
	if ((s64)(idle_now.mono - on_cpu->now.mono) < 0)
		return false;

	for (member = on_cpu->first; member; member = member->next) {
		local_irq_disable();
		now = mg_now_of(cpu);
		ret = mg_read_idle(member, &now, &idle_now, &cpus->sink);
		local_irq_enable();
		if (ret < 0)
			return false;
		member->error = 0;
	}

	smp_rmb();	/* pairs with the smp_wmb() of mg_cpu_idle_invalidate() */
	return READ_ONCE(on_cpu->idle_seq) == seq;
}
