// SPDX-License-Identifier: GPL-2.0-only
/*
 * A sweep brings all records up to date with one broadcast to the CPUs that have
 * a member which only they can read.
 *
 * The sweeping task holds mg_group.mutex and waits for all handlers, so members,
 * frames and masks do not change while handlers run.
 */
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/smp.h>

#include "core/fixup.h"
#include "core/group.h"
#include "core/layers.h"
#include "core/limit.h"
#include "core/sweep.h"

#define CREATE_TRACE_POINTS
#include "core/trace.h"

/* Maximum number of repetitions while members keep moving or growing. */
#define MG_SWEEP_TRIES	16

/*
 * Read the members of offline CPUs from this CPU. CPU hotplug has already removed
 * their events.
 */
static void mg_sweep_offline(struct mg_group *group)
{
	int cpu;

	cpumask_andnot(group->tmp_mask, group->targets, cpu_online_mask);
	cpumask_and(group->ipi_mask, group->targets, cpu_online_mask);
	group->targets = group->ipi_mask;
	for_each_cpu(cpu, group->tmp_mask) {
		cpumask_clear_cpu(cpu, group->cpus.running);
		mg_cpu_read_remote(&group->cpus, cpu, false);
		/* A member has moved to a CPU that is online. */
		if (cpumask_test_cpu(cpu, group->cpus.running))
			group->cpus.needs_retry = true;
	}
}

/* The CPUs that have members, limited to @req_mask if it is set. */
static void mg_sweep_select(struct mg_group *group, const struct cpumask *req_mask)
{
	group->selected = group->cpus.mask;
	if (req_mask) {
		cpumask_and(group->selected_mask, group->cpus.mask, req_mask);
		group->selected = group->selected_mask;
	}
}

/* CPUs that are selected, needed and not to be skipped. */
static void mg_sweep_ipi_mask(struct mg_group *group)
{
	cpumask_and(group->ipi_mask, group->selected, group->cpus.running);
	if (group->mode & PERF_METAGROUP_MODE_SKIP_ISOLATED)
		cpumask_andnot(group->ipi_mask, group->ipi_mask, group->skipped);
	group->targets = group->ipi_mask;
}

/*
 * Number the next broadcast. When the number wraps, mg_cpu.done is reset: otherwise a
 * CPU that was not interrupted for 2^32 broadcasts would seem to have completed it.
 */
static void mg_sweep_next_round(struct mg_cpus *cpus)
{
	unsigned int cpu;

	if (unlikely(!++cpus->round)) {
		for (cpu = 0; cpu < nr_cpu_ids; cpu++)
			cpus->on_cpu[cpu].done = 0;
		cpus->round = 1;
	}
}

/* Interrupt all targets that are online. */
static void mg_sweep_send(struct mg_group *group)
{
	mg_sweep_next_round(&group->cpus);

	/* CPUs cannot leave cpu_online_mask while preemption is disabled. */
	preempt_disable();
	if (unlikely(!cpumask_subset(group->targets, cpu_online_mask)))
		mg_sweep_offline(group);
	on_each_cpu_mask(group->targets, mg_cpu_read, &group->cpus, false);
	preempt_enable();
}

/*
 * Wait for the handlers of all targets. on_each_cpu_mask() could wait, but it
 * would search the mask for each CPU, read one more cache line per CPU, and not
 * let tasks of higher priority run. If the last handler starts long after the first
 * ones are done, this is the longest part of a sweep. The acquire makes all writes
 * of handlers visible. A CPU that goes offline meanwhile runs its handler first.
 */
static void mg_sweep_wait(const struct mg_group *group)
{
	const unsigned long *masks = cpumask_bits(group->targets);
	struct mg_cpu *on_cpu = group->cpus.on_cpu;
	u32 round = group->cpus.round;
	unsigned long left;
	unsigned int i;

	for (i = 0; i < BITS_TO_LONGS(nr_cpu_ids); i++, on_cpu += BITS_PER_LONG) {
		for (left = masks[i]; left; left &= left - 1)
			smp_cond_load_acquire(&on_cpu[__ffs(left)].done, round == VAL);
	}
}

/* The latest time of a handler. */
static u64 mg_sweep_latest(const struct mg_group *group)
{
	u64 latest = 0;
	int cpu;

	for_each_cpu(cpu, group->targets)
		latest = max(latest, group->cpus.on_cpu[cpu].now.mono);
	return latest;
}

/* Read members that need no interrupt or whose CPU is skipped. */
static void mg_sweep_remote(struct mg_group *group)
{
	int cpu;

	mg_sweep_ipi_mask(group);
	cpumask_andnot(group->tmp_mask, group->selected, group->ipi_mask);
	for_each_cpu(cpu, group->tmp_mask)
		mg_cpu_read_remote(&group->cpus, cpu, cpumask_test_cpu(cpu, group->skipped));
	/* CPUs of members that could not be read are added to @running. */
	mg_sweep_ipi_mask(group);
}

/* Read members of idle CPUs, which are then not interrupted. */
static void mg_sweep_idle(struct mg_group *group)
{
	mg_sweep_ipi_mask(group);
	group->quiet_ops->read_idle(group);
}

/* Read all selected members. Return: the end of the sweep. */
static u64 mg_sweep_once(struct mg_group *group)
{
	struct mg_cpus *cpus = &group->cpus;
	u64 end;

	group->cpus.needs_retry = false;
	/* Usually no mask is written. */
	group->targets = group->selected;
	if (!cpumask_subset(group->selected, group->cpus.running) ||
	    group->mode & PERF_METAGROUP_MODE_SKIP_ISOLATED)
		mg_sweep_remote(group);
	if (group->mode & PERF_METAGROUP_MODE_QUIET)
		mg_sweep_idle(group);

	mg_sweep_send(group);
	mg_sweep_wait(group);

	end = ktime_get_ns();
	/* perf_clock() may be ahead on another CPU, by @window at most. */
	if (unlikely(end - cpus->begin < cpus->window))
		end = max(end, mg_sweep_latest(group));
	return end;
}

/*
 * Read both clocks at the same time, perf_clock() last: an older perf_clock() would
 * lead to times in the future.
 */
static void mg_sweep_start_clock(struct mg_group *group)
{
	struct mg_cpus *cpus = &group->cpus;
	unsigned long flags;

	local_irq_save(flags);
	cpus->begin = ktime_get_ns();
	cpus->clock_offset = cpus->begin - mg_perf_clock(smp_processor_id());
	local_irq_restore(flags);
}

static void mg_sweep_account(struct mg_group *group, u64 end)
{
	struct perf_metagroup_snapshot *head = group->cpus.sink.base;
	struct mg_stats *stats = &group->stats;
	u64 duration = end - group->cpus.begin;

	/* Most sweeps take longer than that, and their handlers run earlier. */
	group->cpus.window = duration - duration / 8;
	WRITE_ONCE(stats->sweeps, stats->sweeps + 1);	/* mg_join_sweeps() reads it */
	stats->last = duration;
	stats->total += duration;
	if (duration > stats->max)
		stats->max = duration;

	head->sequence = stats->sweeps;
	head->begin = group->cpus.begin;
	head->end = end;
}

/* Prepare the copy that is written next: frames, with the records of the last sweep. */
static void mg_sweep_prepare(struct mg_group *group)
{
	struct mg_member *member;
	int cpu;

	if (!mg_frames_prepare(&group->frames) || group->selected == group->cpus.mask)
		return;
	cpumask_andnot(group->tmp_mask,
		       group->swept_all ? group->cpus.mask : group->swept_mask,
		       group->selected);
	for_each_cpu(cpu, group->tmp_mask)
		for (member = group->cpus.on_cpu[cpu].first; member; member = member->next)
			mg_frames_carry_over(&group->frames, member);
}

/**
 * mg_sweep - bring records up to date
 * @group:	the meta-group
 * @req_mask:	only members on these CPUs; NULL for all
 * @limit:	charged for the CPUs that are interrupted, see mg_limit_settle(); or NULL
 *
 * Members that could not be read are marked STALE in their records.
 *
 * Context: Process context, may sleep. mg_group.mutex is held. Takes ctx->lock.
 */
void mg_sweep(struct mg_group *group, const struct cpumask *req_mask, struct mg_limit *limit)
{
	u32 round = group->cpus.round;
	int tries = MG_SWEEP_TRIES;
	bool again;
	u64 end;

	lockdep_assert_held(&group->mutex);
	trace_perf_metagroup_sweep_begin(group);
	mg_sweep_select(group, req_mask);
	mg_sweep_prepare(group);
	group->migrated = false;
	do {
		group->cpus.sink = mg_frames_sink(&group->frames);
		mg_sweep_start_clock(group);
		end = mg_sweep_once(group);
		again = false;
		if (unlikely(READ_ONCE(group->cpus.needs_retry)) && --tries) {
			again = mg_fixup(group);
			mg_sweep_select(group, req_mask);
		}
	} while (again);

	if (unlikely(limit))
		mg_limit_settle(limit, (group->cpus.round - round) *
				       cpumask_weight(group->targets));
	group->swept_all = group->selected == group->cpus.mask;
	if (!group->swept_all)
		cpumask_copy(group->swept_mask, group->selected);
	mg_sweep_account(group, end);
	mg_snapshot_publish(&group->frames.snapshot);
	trace_perf_metagroup_sweep_end(group, end - group->cpus.begin);
}

/* The group has grown beyond the limits of its CPU, or beyond the rings of a stream. */
static bool mg_is_too_large(int error)
{
	return error == -E2BIG || error == -ENOSPC;
}

/**
 * mg_sweep_error - the error of the last sweep, as a RAW read returns it
 * @group:	the meta-group
 *
 * A process that has the descriptor of a leader can make its group grow beyond the
 * limits. This must not affect other members, so such a group has no payload.
 *
 * Context: mg_group.mutex is held since the sweep.
 * Return: the error of the first other member that is STALE, or 0.
 */
int mg_sweep_error(const struct mg_group *group)
{
	u32 i;

	if (likely(!group->cpus.needs_retry))
		return 0;
	for (i = 0; i < group->frames.nr_members; i++) {
		const struct mg_member *member = group->frames.members[i];

		if (member->error && !mg_is_too_large(member->error) &&
		    cpumask_test_cpu(member->cpu, group->selected))
			return member->error == -EMSGSIZE || member->error == -EBUSY ?
				-EAGAIN : member->error;
	}
	return 0;
}
