// SPDX-License-Identifier: GPL-2.0-only
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "compat/isolation.h"
#include "core/group.h"
#include "core/layers.h"

static bool mg_group_alloc_masks(struct mg_group *group)
{
	return zalloc_cpumask_var(&group->skipped, GFP_KERNEL_ACCOUNT) &&
	       zalloc_cpumask_var(&group->req_mask, GFP_KERNEL_ACCOUNT) &&
	       zalloc_cpumask_var(&group->selected_mask, GFP_KERNEL_ACCOUNT) &&
	       zalloc_cpumask_var(&group->ipi_mask, GFP_KERNEL_ACCOUNT) &&
	       zalloc_cpumask_var(&group->tmp_mask, GFP_KERNEL_ACCOUNT) &&
	       zalloc_cpumask_var(&group->swept_mask, GFP_KERNEL_ACCOUNT);
}

static void mg_group_free_masks(struct mg_group *group)
{
	free_cpumask_var(group->swept_mask);
	free_cpumask_var(group->tmp_mask);
	free_cpumask_var(group->ipi_mask);
	free_cpumask_var(group->selected_mask);
	free_cpumask_var(group->req_mask);
	free_cpumask_var(group->skipped);
}

/**
 * mg_group_create - create an empty meta-group
 *
 * Context: Process context, may sleep.
 * Return: a reference, or ERR_PTR(-ENOMEM).
 */
struct mg_group *mg_group_create(void)
{
	struct mg_group *group;

	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return ERR_PTR(-ENOMEM);

	mutex_init(&group->mutex);
	kref_init(&group->refs);
	if (mg_cpus_init(&group->cpus) || mg_frames_init(&group->frames) ||
	    !mg_group_alloc_masks(group)) {
		mg_group_put(group);
		return ERR_PTR(-ENOMEM);
	}
	return group;
}

static void mg_group_free(struct kref *refs)
{
	struct mg_group *group = container_of(refs, struct mg_group, refs);

	if (group->quiet)
		group->quiet_ops->free(group);
	mg_frames_destroy(&group->frames);
	mg_cpus_destroy(&group->cpus);
	mg_group_free_masks(group);
	kvfree(group->raw);
	mutex_destroy(&group->mutex);
	kfree(group);
}

/**
 * mg_group_put - drop a reference
 * @group:	the meta-group; freed with its last reference
 *
 * Context: Process context, may sleep.
 */
void mg_group_put(struct mg_group *group)
{
	kref_put(&group->refs, mg_group_free);
}

/**
 * mg_group_control - enable, disable or reset all members that are perf groups
 * @group:	the meta-group
 * @perf_cmd:	PERF_EVENT_IOC_ENABLE, _DISABLE or _RESET
 *
 * Context: Process context, may sleep. mg_group.mutex is held. Takes ctx->mutex.
 * Return: 0, or the first error of a member. All members are tried.
 */
int mg_group_control(struct mg_group *group, unsigned int perf_cmd)
{
	int first = 0;
	int err;
	u32 i;

	/*
	 * RESET interrupts an idle CPU to update its counts, and then sets them to
	 * 0. The CPU must not refresh its counts in between, when it enters idle
	 * again.
	 */
	if (group->quiet)
		group->quiet_ops->hold(group);
	for (i = 0; i < group->frames.nr_members; i++) {
		const struct mg_counter *counter = group->frames.members[i]->counter;

		if (!counter->file)
			continue;
		err = mg_counter_control(counter, perf_cmd);
		if (err && !first)
			first = err;
	}
	if (group->quiet)
		group->quiet_ops->release(group);
	return first;
}

/* CPUs that are isolated from the tick or from load balancing. */
static void mg_isolated_cpus(struct cpumask *isolated)
{
	rcu_read_lock();	/* since 7.0 the masks may be replaced */
	cpumask_and(isolated, housekeeping_cpumask(HK_TYPE_TICK),
		    housekeeping_cpumask(HK_TYPE_DOMAIN));
	rcu_read_unlock();
	cpumask_andnot(isolated, cpu_possible_mask, isolated);
}

/**
 * mg_group_set_mode - set the mode of a meta-group, except for quiet mode
 * @group:	the meta-group
 * @mode:	PERF_METAGROUP_MODE_*
 *
 * Context: Process context. mg_group.mutex is held.
 */
void mg_group_set_mode(struct mg_group *group, u32 mode)
{
	group->mode = mode;
	if (mode & PERF_METAGROUP_MODE_SKIP_ISOLATED)
		mg_isolated_cpus(group->skipped);
	else
		cpumask_clear(group->skipped);
}

/**
 * mg_group_info - describe a meta-group
 * @group:	the meta-group
 * @info:	result
 *
 * Context: Process context, may sleep. Takes mg_group.mutex and ctx->lock.
 * Return: 0 or -ERESTARTSYS.
 */
int mg_group_info(struct mg_group *group, struct mg_group_info *info)
{
	const struct mg_frames *frames = &group->frames;
	u32 i;
	int err;

	err = mg_group_lock(group);
	if (err)
		return err;

	info->members = frames->nr_members;
	info->cpus = cpumask_weight(group->cpus.mask);
	info->mode = group->mode;
	info->framed_size = frames->size;
	info->map_size = mg_snapshot_map_size(&frames->snapshot);
	info->raw_size = 0;
	for (i = 0; i < frames->nr_members; i++) {
		struct mg_event_info event;

		mg_counter_describe(frames->members[i]->counter, &event, NULL, 0);
		info->raw_size += event.payload;
	}
	mg_group_unlock(group);
	return 0;
}

/**
 * mg_group_member - describe a member
 * @group:	the meta-group
 * @id:		number of the member
 * @info:	result
 * @ids:	result: ids of its events
 * @max_ids:	entries of @ids
 *
 * Context: Process context, may sleep. Takes mg_group.mutex and ctx->lock.
 * Return: 0, -ENOENT, -EAGAIN or -ERESTARTSYS.
 */
int mg_group_member(struct mg_group *group, u32 id, struct mg_event_info *info,
		    u64 *ids, u32 max_ids)
{
	int index;
	int err;

	err = mg_group_lock(group);
	if (err)
		return err;

	index = mg_frames_find(&group->frames, id);
	err = index < 0 ? index :
		mg_member_describe(group->frames.members[index], info, ids, max_ids);
	mg_group_unlock(group);
	return err;
}
