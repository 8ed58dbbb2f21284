// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "core/cpu.h"

/**
 * mg_cpus_init - allocate the state of all CPUs
 * @cpus:	zeroed
 *
 * Context: Process context, may sleep.
 * Return: 0 or -ENOMEM. mg_cpus_destroy() may be called in either case.
 */
int mg_cpus_init(struct mg_cpus *cpus)
{
	unsigned int cpu;

	/* Memory with a power-of-two size is aligned to it, as struct mg_cpu requires. */
	cpus->on_cpu = kvcalloc(roundup_pow_of_two(nr_cpu_ids),
				sizeof(*cpus->on_cpu), GFP_KERNEL_ACCOUNT);
	if (!cpus->on_cpu ||
	    !zalloc_cpumask_var(&cpus->running, GFP_KERNEL_ACCOUNT) ||
	    !zalloc_cpumask_var(&cpus->mask, GFP_KERNEL_ACCOUNT))
		return -ENOMEM;
	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		raw_spin_lock_init(&cpus->on_cpu[cpu].lock);
		cpus->on_cpu[cpu].max_room = U32_MAX;
	}
	return 0;
}

/**
 * mg_cpus_destroy - free the state of all CPUs
 * @cpus:	no other user is left
 */
void mg_cpus_destroy(struct mg_cpus *cpus)
{
	free_cpumask_var(cpus->mask);
	free_cpumask_var(cpus->running);
	kvfree(cpus->on_cpu);
}

/**
 * mg_cpus_add - append a member to the list of a CPU
 * @cpus:	the CPUs
 * @member:	the member; on no list
 * @cpu:	the CPU
 *
 * Context: mg_group.mutex is held. Takes mg_cpu.lock.
 */
void mg_cpus_add(struct mg_cpus *cpus, struct mg_member *member, int cpu)
{
	struct mg_cpu *on_cpu = &cpus->on_cpu[cpu];
	struct mg_member **link = &on_cpu->first;

	raw_spin_lock_irq(&on_cpu->lock);
	mg_cpu_idle_invalidate(on_cpu);
	while (*link)
		link = &(*link)->next;
	member->next = NULL;
	WRITE_ONCE(*link, member);	/* mg_quiet_enter() reads it without the lock */
	on_cpu->sample_room += mg_sample_room(member);
	raw_spin_unlock_irq(&on_cpu->lock);

	member->cpu = cpu;
	on_cpu->nr_events += member->plan->capacity;
	cpumask_set_cpu(cpu, cpus->mask);
	cpumask_set_cpu(cpu, cpus->running);
}

/**
 * mg_cpus_remove - remove a member from the list of its CPU
 * @cpus:	the CPUs
 * @member:	the member
 *
 * Context: mg_group.mutex is held. Takes mg_cpu.lock.
 */
void mg_cpus_remove(struct mg_cpus *cpus, struct mg_member *member)
{
	struct mg_cpu *on_cpu = &cpus->on_cpu[member->cpu];
	struct mg_member **link = &on_cpu->first;

	raw_spin_lock_irq(&on_cpu->lock);
	mg_cpu_idle_invalidate(on_cpu);
	while (*link != member)
		link = &(*link)->next;
	WRITE_ONCE(*link, member->next);
	on_cpu->sample_room -= mg_sample_room(member);
	raw_spin_unlock_irq(&on_cpu->lock);
	on_cpu->nr_events -= member->plan->capacity;

	if (!on_cpu->first) {
		cpumask_clear_cpu(member->cpu, cpus->mask);
		cpumask_clear_cpu(member->cpu, cpus->running);
	}
}

/**
 * mg_cpus_replace_plan - replace the plan of a member by one of another capacity
 * @cpus:	the CPUs
 * @member:	the member; its old plan is freed
 * @plan:	the new plan
 *
 * Context: mg_group.mutex is held, no handler runs. Takes mg_cpu.lock.
 */
void mg_cpus_replace_plan(struct mg_cpus *cpus, struct mg_member *member,
			  struct mg_plan *plan)
{
	struct mg_cpu *on_cpu = &cpus->on_cpu[member->cpu];
	struct mg_plan *old = member->plan;

	raw_spin_lock_irq(&on_cpu->lock);	/* the CPU may use it at any time */
	on_cpu->sample_room -= mg_sample_room(member);
	member->plan = plan;
	on_cpu->sample_room += mg_sample_room(member);
	raw_spin_unlock_irq(&on_cpu->lock);
	on_cpu->nr_events += plan->capacity - old->capacity;
	mg_plan_free(old);
	mg_member_unwrite(member);
}

/*
 * The sweeping task reads CLOCK_MONOTONIC and perf_clock() at the same time, so
 * handlers need to read one clock only. perf_clock() may differ between CPUs: a time
 * that is not within @window after the start of the sweep is replaced.
 */
static __always_inline struct mg_now mg_now_in_sweep(const struct mg_cpus *cpus, int cpu)
{
	struct mg_now now;

	now.perf = mg_perf_clock(cpu);
	now.mono = now.perf + cpus->clock_offset;
	if (unlikely(now.mono - cpus->begin > cpus->window))
		now.mono = ktime_get_ns();
	return now;
}

/**
 * mg_cpu_read - read all members of this CPU during a broadcast
 * @info:	struct mg_cpus of their meta-group
 *
 * Writes only frames and plans of this CPU's members, apart from @running and
 * @needs_retry. The sweeping task may continue, and free @info, as soon as it
 * sees @done.
 *
 * Context: Interrupts are off: an IPI, or a direct call on the CPU of the
 * sweeping task. Takes ctx->lock.
 */
void mg_cpu_read(void *info)
{
	struct mg_cpus *cpus = info;
	int cpu = smp_processor_id();
	struct mg_cpu *on_cpu = &cpus->on_cpu[cpu];
	struct mg_member *member;
	bool needed = false;	/* only this CPU can read some member */
	bool failed = false;	/* some member could not be read */
	int ret;

	on_cpu->now = mg_now_in_sweep(cpus, cpu);
	for (member = on_cpu->first; member; member = member->next) {
		ret = mg_read_local(member, cpu, &on_cpu->now, &cpus->sink);
		if (likely(ret == MG_SCOPE_CPU))
			needed = true;
		else if (ret < 0)
			failed = true;
	}
	if (unlikely(failed))
		WRITE_ONCE(cpus->needs_retry, true);
	if (unlikely(!needed))
		cpumask_clear_cpu(cpu, cpus->running);

	/* Pairs with the smp_cond_load_acquire() of mg_sweep_wait(). */
	smp_store_release(&on_cpu->done, cpus->round);
}

/**
 * mg_cpu_read_remote - read the members of a CPU without interrupting it
 * @cpus:	the CPUs
 * @cpu:	the CPU
 * @skip:	the CPU is not interrupted in this sweep
 *
 * A member that needs its CPU is SKIPPED if @skip is set. Otherwise the CPU is
 * added to @running, so that this sweep interrupts it.
 *
 * Context: mg_group.mutex is held. Takes ctx->lock.
 */
void mg_cpu_read_remote(struct mg_cpus *cpus, int cpu, bool skip)
{
	struct mg_member *member;
	struct mg_now now;
	int ret;

	for (member = cpus->on_cpu[cpu].first; member; member = member->next) {
		local_irq_disable();
		now = mg_now_of(cpu);
		ret = mg_read_remote(member, cpu, &now, &cpus->sink);
		local_irq_enable();

		if (ret >= 0)
			continue;
		if (ret == -EBUSY && skip) {
			mg_sink_record(&cpus->sink, member)->status = PERF_METAGROUP_SKIPPED;
			member->error = 0;
		} else if (skip || (ret != -EBUSY && ret != -EAGAIN)) {
			cpus->needs_retry = true;
		} else {
			cpumask_set_cpu(cpu, cpus->running);
			return;
		}
	}
}
