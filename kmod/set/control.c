// SPDX-License-Identifier: GPL-2.0-only
/*
 * Starting, stopping and resetting. Set members are controlled with one broadcast:
 * each CPU writes the baselines of its own members.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/perf_event.h>
#include <linux/smp.h>

#include "core/group.h"
#include "set/control.h"

struct mg_control_call {
	struct mg_cpus *cpus;
	const struct mg_control *control;
};

static bool mg_is_controlled(const struct mg_member *member, const struct mg_control *control)
{
	return member->view && member->id >= control->first && member->id <= control->last;
}

static void mg_control_members(const struct mg_cpu *on_cpu, const struct mg_control *control,
			       int cpu, u64 clock)
{
	struct mg_member *member;

	for (member = on_cpu->first; member; member = member->next)
		if (mg_is_controlled(member, control))
			mg_view_control(member->view, member->plan, control->op, cpu, clock);
}

/* Interrupts are off, so neither a stream nor idle entry reads at the same time. */
static void mg_control_this_cpu(void *info)
{
	const struct mg_control_call *call = info;
	int cpu = smp_processor_id();
	struct mg_cpu *on_cpu = &call->cpus->on_cpu[cpu];

	/* Counts that were read on entry to idle must no longer be shown. */
	on_cpu->now = mg_now_of(cpu);
	mg_control_members(on_cpu, call->control, cpu, on_cpu->now.perf);
}

/* The events of offline CPUs have been removed from them. */
static void mg_control_offline(struct mg_group *group, const struct mg_control *control,
			       int cpu)
{
	local_irq_disable();
	mg_control_members(&group->cpus.on_cpu[cpu], control, MG_OTHER_CPU,
			   mg_perf_clock(cpu));
	local_irq_enable();
}

static u32 mg_control_count(const struct mg_cpu *on_cpu, const struct mg_control *control)
{
	const struct mg_member *member;
	u32 count = 0;

	for (member = on_cpu->first; member; member = member->next)
		count += mg_is_controlled(member, control);
	return count;
}

/**
 * mg_control_sets - control set members
 * @group:	the meta-group
 * @control:	what to do to which members; its results are set
 *
 * Context: Process context, may sleep. mg_group.mutex is held. Takes
 * cpu_hotplug_lock and ctx->lock.
 */
void mg_control_sets(struct mg_group *group, struct mg_control *control)
{
	struct mg_control_call call = { .cpus = &group->cpus, .control = control };
	struct mg_cpu *on_cpu = group->cpus.on_cpu;
	u64 oldest = U64_MAX, newest = 0;
	u32 count;
	int cpu;

	control->members = 0;
	control->begin = ktime_get_ns();
	cpumask_clear(group->tmp_mask);
	cpus_read_lock();
	for_each_cpu(cpu, group->cpus.mask) {
		if (control->cpus && !cpumask_test_cpu(cpu, control->cpus))
			continue;
		count = mg_control_count(&on_cpu[cpu], control);
		control->members += count;
		if (!count)
			continue;
		if (cpu_online(cpu))
			cpumask_set_cpu(cpu, group->tmp_mask);
		else
			mg_control_offline(group, control, cpu);
	}
	on_each_cpu_mask(group->tmp_mask, mg_control_this_cpu, &call, true);
	cpus_read_unlock();
	control->end = ktime_get_ns();
	control->interrupted = cpumask_weight(group->tmp_mask);

	for_each_cpu(cpu, group->tmp_mask) {
		oldest = min(oldest, on_cpu[cpu].now.mono);
		newest = max(newest, on_cpu[cpu].now.mono);
	}
	control->skew = newest > oldest ? newest - oldest : 0;
}

/**
 * mg_control_all - enable, disable or reset all members
 * @group:	the meta-group
 * @perf_cmd:	PERF_EVENT_IOC_ENABLE, _DISABLE or _RESET
 * @interrupted: result: number of interrupts; a CPU may have several, one for each
 *		perf group
 *
 * Context: Process context, may sleep. mg_group.mutex is held. Takes ctx->mutex and
 * cpu_hotplug_lock.
 * Return: 0, or the first error of a member. All members are tried.
 */
int mg_control_all(struct mg_group *group, unsigned int perf_cmd, u32 *interrupted)
{
	struct mg_control control = {
		.op = perf_cmd == PERF_EVENT_IOC_ENABLE ? MG_VIEW_START :
		      perf_cmd == PERF_EVENT_IOC_DISABLE ? MG_VIEW_STOP : MG_VIEW_RESET,
		.last = U32_MAX,
	};

	mg_control_sets(group, &control);
	*interrupted = control.interrupted + group->frames.nr_members - control.members;
	return mg_group_control(group, perf_cmd);
}
