// SPDX-License-Identifier: GPL-2.0-only
/*
 * The interface for other modules, include/linux/perf_metagroup.h. Each meta-group has
 * one set, which follows CPU hotplug.
 */
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/irqflags.h>
#include <linux/perf_metagroup.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "core/group.h"
#include "core/perf_read.h"
#include "core/sweep.h"
#include "set/follow.h"
#include "set/set.h"

/* A payload is the number of events, the two times, and the counts one after another. */
#define MG_EXPORTS_FORMAT	(PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | \
				 PERF_FORMAT_TOTAL_TIME_RUNNING)

/**
 * struct perf_metagroup - a meta-group that another module has created
 * @group:	the meta-group; constant
 * @follow:	reopens its events when a CPU comes online; constant
 */
struct perf_metagroup {
	struct mg_group *group;
	struct mg_follow *follow;
};

static int mg_exports_open(struct mg_group *group, struct mg_set *set,
			   const struct cpumask *cpus)
{
	cpumask_var_t mask;
	int err;

	/* A copy, because cpu_present_mask may change. */
	if (!alloc_cpumask_var(&mask, GFP_KERNEL))
		return -ENOMEM;
	cpumask_and(mask, cpus ?: cpu_present_mask, cpu_possible_mask);
	err = cpumask_empty(mask) ? -EINVAL : mg_set_prepare(set, mask);
	free_cpumask_var(mask);
	if (!err)
		err = mg_group_lock(group);
	if (err)
		return err;
	err = mg_attach_reserve(&set->attach, group);
	if (!err)
		mg_set_commit(set, group);
	mg_group_unlock(group);
	return err;
}

static int mg_exports_open_attrs(struct mg_group *group, const struct perf_event_attr *attrs,
				 u32 nr_events, const struct cpumask *cpus)
{
	struct mg_set set = { .format = MG_EXPORTS_FORMAT, .follow = true };
	const struct cred *kernel = prepare_kernel_cred(&init_task);
	int err;
	u32 i;

	if (!kernel)
		return -ENOMEM;
	set.spec = mg_spec_create(nr_events, kernel);
	put_cred(kernel);
	if (!set.spec)
		return -ENOMEM;
	for (i = 0; i < nr_events; i++)
		mg_attr_for_counting(&set.spec->attrs[i], &attrs[i]);
	err = mg_exports_open(group, &set, cpus);
	mg_attach_end(&set.attach);
	mg_spec_put(set.spec);
	return err;
}

/**
 * perf_metagroup_create - open events on many CPUs, all or none
 * @attrs:	what the events count; the fields that PERF_METAGROUP_IOC_OPEN_SET uses
 * @nr_events:	entries of @attrs, 1 to PERF_METAGROUP_MAX_SET_EVENTS
 * @cpus:	the CPUs; NULL for all present CPUs
 *
 * The events are opened with the credentials of the kernel, not of the current task, and
 * count from 0 when this function returns. Offline CPUs start to count when they come
 * online. At least one CPU must be online.
 *
 * Context: Process context, may sleep; not in a workqueue with WQ_MEM_RECLAIM, and
 * cpu_hotplug_lock is not held.
 * Return: the meta-group or an ERR_PTR(): -EINVAL; -EBUSY if a PMU has no counter for an
 * event; -ENODEV if no CPU is online; -EINTR or -ERESTARTSYS on a signal; -E2BIG; -ENOMEM;
 * -ENOENT, -EOPNOTSUPP and others as perf returns for an attr.
 */
struct perf_metagroup *perf_metagroup_create(const struct perf_event_attr *attrs, u32 nr_events,
					     const struct cpumask *cpus)
{
	struct perf_metagroup *metagroup;
	int err;

	if (!nr_events || nr_events > PERF_METAGROUP_MAX_SET_EVENTS)
		return ERR_PTR(-EINVAL);
	metagroup = kzalloc(sizeof(*metagroup), GFP_KERNEL);
	if (!metagroup)
		return ERR_PTR(-ENOMEM);
	metagroup->group = mg_group_create();
	if (IS_ERR(metagroup->group)) {
		err = PTR_ERR(metagroup->group);
		goto free;
	}
	metagroup->follow = mg_follow_create(metagroup->group);
	if (IS_ERR(metagroup->follow)) {
		err = PTR_ERR(metagroup->follow);
		goto put_group;
	}
	err = mg_exports_open_attrs(metagroup->group, attrs, nr_events, cpus);
	if (err)
		goto destroy_follow;
	/* A CPU may have come online since. */
	mg_follow_update(metagroup->follow);
	return metagroup;

destroy_follow:
	mg_follow_destroy(metagroup->follow);
put_group:
	mg_group_put(metagroup->group);
free:
	kfree(metagroup);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_GPL(perf_metagroup_create);

static void mg_exports_call(const struct mg_group *group, const struct mg_member *member,
			    perf_metagroup_fn func, void *data)
{
	const struct perf_metagroup_record *record = mg_sink_record(&group->cpus.sink, member);
	const u64 *payload = (const void *)record + record->header;
	struct perf_metagroup_counts counts = {
		.cpu = record->cpu,
		.status = record->status,
		.time = record->time,
	};

	if (record->size) {
		counts.enabled = payload[1];
		counts.running = payload[2];
		counts.counts = payload + member->counter->count_word;
	}
	func(&counts, data);
}

/**
 * perf_metagroup_sweep - read all CPUs with one broadcast
 * @metagroup:	the meta-group
 * @func:	called after the broadcast for each CPU, in ascending order; must not call
 *		functions for @metagroup; its argument is valid only during the call
 * @data:	passed to @func
 *
 * Context: Process context, may sleep.
 * Return: 0, or -ERESTARTSYS on a signal.
 */
int perf_metagroup_sweep(struct perf_metagroup *metagroup, perf_metagroup_fn func, void *data)
{
	struct mg_group *group = metagroup->group;
	int err = mg_group_lock(group);
	u32 i;

	if (err)
		return err;
	mg_sweep(group, NULL, NULL);
	for (i = 0; i < group->frames.nr_members; i++)
		mg_exports_call(group, group->frames.members[i], func, data);
	mg_group_unlock(group);
	return 0;
}
EXPORT_SYMBOL_GPL(perf_metagroup_sweep);

static int mg_exports_read(const struct mg_member *member, int cpu, u64 *counts)
{
	const struct mg_counter *counter = member->counter;
	struct perf_event_context *ctx = mg_plan_lock(member->plan);
	/* Scratch memory that only this CPU uses while it is online. */
	u64 *payload = member->view->payload;
	u32 status;
	int ret;

	ret = mg_view_update(member, ctx, cpu, &status);
	if (ret < 0 || status != PERF_METAGROUP_OK) {
		mg_plan_unlock(ctx);
		return -ENODATA;
	}
	mg_write_payload(member->plan, ctx, mg_perf_clock(cpu), payload);
	mg_view_apply(member, status, payload);
	mg_plan_unlock(ctx);
	memcpy(counts, payload + counter->count_word, counter->nr_kernel * sizeof(*counts));
	return 0;
}

/**
 * perf_metagroup_read_this_cpu - read the events of the current CPU
 * @metagroup:	the meta-group
 * @counts:	result: one entry for each event
 *
 * Context: Any but NMI; ctx->lock of perf is not held. Takes mg_cpu.lock and ctx->lock.
 * Return: 0; -ENODEV if @metagroup does not have this CPU; -ENODATA if its events are
 * not counting.
 */
int perf_metagroup_read_this_cpu(struct perf_metagroup *metagroup, u64 *counts)
{
	struct mg_cpu *on_cpu;
	unsigned long flags;
	int err, cpu;

	local_irq_save(flags);
	cpu = smp_processor_id();
	on_cpu = &metagroup->group->cpus.on_cpu[cpu];
	raw_spin_lock(&on_cpu->lock);
	err = on_cpu->first ? mg_exports_read(on_cpu->first, cpu, counts) : -ENODEV;
	raw_spin_unlock(&on_cpu->lock);
	local_irq_restore(flags);
	return err;
}
EXPORT_SYMBOL_GPL(perf_metagroup_read_this_cpu);

/**
 * perf_metagroup_destroy - close the events
 * @metagroup:	no other user is left; or NULL
 *
 * Context: As for perf_metagroup_create().
 */
void perf_metagroup_destroy(struct perf_metagroup *metagroup)
{
	if (!metagroup)
		return;
	mg_follow_destroy(metagroup->follow);
	mg_group_put(metagroup->group);
	kfree(metagroup);
}
EXPORT_SYMBOL_GPL(perf_metagroup_destroy);
