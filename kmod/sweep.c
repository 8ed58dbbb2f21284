// SPDX-License-Identifier: GPL-2.0-only
/*
 * One sweep: every member's record is brought up to date, with one broadcast
 * to the CPUs that have a running member.
 *
 * The task that sweeps holds mg_group.mutex and waits for all handlers, so
 * members, frames and masks stand still under them.
 */
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/perf_event.h>
#include <linux/smp.h>

#include "group.h"
#include "quiet.h"
#include "read.h"
#include "sweep.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/*
 * A payload that does not fit doubles the room, up to MG_MAX_PAYLOAD, if there
 * is memory for it; an event that moves or grows may do so again, but not for
 * ever.
 */
#define MG_SWEEP_TRIES	16

/*
 * A CPU that is offline cannot be interrupted, but hotplug has taken the events
 * off it before: they can be read from here.
 */
static void mg_sweep_offline(struct mg_group *group)
{
	int cpu;

	for_each_cpu(cpu, group->targets) {
		if (cpu_online(cpu))
			continue;
		cpumask_clear_cpu(cpu, group->targets);
		cpumask_clear_cpu(cpu, group->running);
		mg_read_from_here(group, cpu);
		/* It has moved to a CPU that is online. */
		if (cpumask_test_cpu(cpu, group->running))
			group->unsettled = true;
	}
}

/* The CPUs with members that are asked for and may be interrupted. */
static void mg_sweep_select(struct mg_group *group, const struct cpumask *asked)
{
	group->selected = group->cpus;
	if (group->mode & PERF_METAGROUP_MODE_SPARE_ISOLATED) {
		cpumask_andnot(group->chosen, group->cpus, group->spared);
		group->selected = group->chosen;
	}
	if (asked) {
		cpumask_and(group->chosen, group->selected, asked);
		group->selected = group->chosen;
	}
}

/*
 * Interrupt all targets, and wait for them. on_each_cpu_mask() could wait, but
 * would look for the next CPU in a mask and at a cache line of its own for each;
 * when the first to be interrupted has long been done, that is what a sweep
 * takes. What handlers write is seen because this acquires what they release.
 */
static void mg_sweep_broadcast(struct mg_group *group)
{
	const unsigned long *masks = cpumask_bits(group->targets);
	unsigned long left;
	unsigned int i;
	u32 done;
	int cpu;

	on_each_cpu_mask(group->targets, mg_read_here, group, false);

	for (i = 0; i < BITS_TO_LONGS(nr_cpu_ids); i++) {
		for (left = masks[i]; left; left &= left - 1) {
			cpu = i * BITS_PER_LONG + __ffs(left);
			done = ++group->awaited[cpu];
			smp_cond_load_acquire(&group->on_cpu[cpu].done, done == VAL);
		}
	}
}

static void mg_sweep_once(struct mg_group *group)
{
	struct cpumask *targets = group->targets;
	int cpu;

	group->unsettled = false;

	if (unlikely(!cpumask_subset(group->selected, group->running))) {
		cpumask_andnot(targets, group->selected, group->running);
		for_each_cpu(cpu, targets)
			mg_read_from_here(group, cpu);
	}

	cpumask_and(targets, group->selected, group->running);
	if (group->mode & PERF_METAGROUP_MODE_QUIET)
		for_each_cpu(cpu, targets)
			if (mg_quiet_read(group, cpu))
				cpumask_clear_cpu(cpu, targets);

	/* CPUs cannot leave cpu_online_mask while preemption is disabled. */
	preempt_disable();
	if (unlikely(!cpumask_subset(targets, cpu_online_mask)))
		mg_sweep_offline(group);
	mg_sweep_broadcast(group);
	preempt_enable();
}

/*
 * See to the members that could not be read: grow what was too small, follow
 * what has moved. The error of a PMU is not cured by another try.
 *
 * Return: whether to sweep again, or an error.
 */
static int mg_sweep_settle(struct mg_group *group)
{
	struct mg_event_info info;
	u32 payload = 0;
	bool again = false;
	u32 i;
	int err;

	for (i = 0; i < group->nr_members; i++) {
		struct mg_member *member = group->members[i];

		if (!cpumask_test_cpu(member->cpu, group->selected))
			continue;
		switch (member->error) {
		case -EMSGSIZE:
			mg_event_describe(&member->source, &info, NULL, 0);
			payload = max(payload, info.payload);
			again = true;
			break;
		case -EAGAIN:
			mg_group_rehome(group, member);
			again = true;
			break;
		}
	}

	if (payload) {
		u32 room = mg_snapshot_room(&group->snapshot);

		err = mg_group_grow(group, clamp_t(u32, 2 * room, payload, MG_MAX_PAYLOAD));
		if (err)
			err = mg_group_grow(group, payload);
		if (err)
			return err;
	}
	return again;
}

static void mg_sweep_account(struct mg_group *group, u64 begin, u64 end)
{
	struct perf_metagroup_snapshot *head = group->snapshot.head;
	struct mg_stats *stats = &group->stats;
	u64 duration = end - begin;

	stats->sweeps++;
	stats->last = duration;
	stats->total += duration;
	if (duration > stats->max)
		stats->max = duration;

	head->sequence = stats->sweeps;
	head->begin = begin;
	head->end = end;
}

/**
 * mg_sweep - bring records up to date
 * @group:	whose mutex is held
 * @asked:	for members on these CPUs, or NULL: on all
 *
 * Return: 0, or -ENOMEM, -E2BIG if an event group grew and there is no room
 * for it. Members that could not be read are marked stale in their records.
 */
int mg_sweep(struct mg_group *group, const struct cpumask *asked)
{
	int tries = MG_SWEEP_TRIES;
	u64 begin, end;
	int again;

	lockdep_assert_held(&group->mutex);
	trace_perf_metagroup_sweep_begin(group);
	mg_snapshot_write_begin(&group->snapshot);
	do {
		mg_sweep_select(group, asked);
		begin = ktime_get_ns();
		mg_sweep_once(group);
		end = ktime_get_ns();
		again = 0;
		if (unlikely(READ_ONCE(group->unsettled)) && --tries)
			again = mg_sweep_settle(group);
	} while (again > 0);

	mg_sweep_account(group, begin, end);
	mg_snapshot_write_end(&group->snapshot);
	trace_perf_metagroup_sweep_end(group, end - begin);
	return again;
}

/* After a sweep: the error of the first member that it left stale, or 0. */
int mg_sweep_error(const struct mg_group *group)
{
	u32 i;

	if (likely(!group->unsettled))
		return 0;
	for (i = 0; i < group->nr_members; i++) {
		const struct mg_member *member = group->members[i];

		if (member->error && cpumask_test_cpu(member->cpu, group->selected))
			return member->error == -EMSGSIZE ? -EAGAIN : member->error;
	}
	return 0;
}
