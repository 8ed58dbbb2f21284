// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replacing the events of a set member: a new member takes its number and position.
 */
#include <linux/compiler.h>
#include <linux/cpumask.h>
#include <linux/errno.h>

#include "core/attach.h"
#include "core/group.h"
#include "set/control.h"
#include "set/replace.h"
#include "set/view.h"

/**
 * mg_replace_reserve - check the limits and allocate memory for other events
 * @group:	the meta-group
 * @old:	a set member
 * @new:	the member that will replace it
 *
 * Context: Process context. mg_group.mutex is held until mg_replace_commit().
 * Return: 0, -E2BIG, -ENOSPC or -ENOMEM.
 */
int mg_replace_reserve(struct mg_group *group, const struct mg_member *old,
		       const struct mg_member *new)
{
	const struct mg_cpu *on_cpu = &group->cpus.on_cpu[old->cpu];
	struct mg_frames *frames = &group->frames;
	u32 nr_events = on_cpu->nr_events - old->plan->capacity + new->plan->capacity;

	if (nr_events > MG_MAX_EVENTS_PER_CPU)
		return -E2BIG;
	if (!mg_cpu_has_room(on_cpu, (u64)on_cpu->sample_room - mg_sample_room(old) +
				     mg_sample_room(new)))
		return -ENOSPC;
	return mg_frames_reserve(frames, frames->nr_members, MG_MAX_MEMBERS,
				 frames->size - mg_member_frame_size(old) +
				 mg_member_frame_size(new));
}

/* Replace @old by @new in the list of its CPU. */
static void mg_replace_on_cpu(struct mg_group *group, const struct mg_member *old,
			      struct mg_member *new)
{
	struct mg_cpu *on_cpu = &group->cpus.on_cpu[old->cpu];
	struct mg_member **link = &on_cpu->first;

	raw_spin_lock_irq(&on_cpu->lock);
	mg_cpu_idle_invalidate(on_cpu);
	while (*link != old)
		link = &(*link)->next;
	new->next = old->next;
	WRITE_ONCE(*link, new);
	on_cpu->sample_room += mg_sample_room(new);
	on_cpu->sample_room -= mg_sample_room(old);
	raw_spin_unlock_irq(&on_cpu->lock);

	new->cpu = old->cpu;
	on_cpu->nr_events += new->plan->capacity;
	on_cpu->nr_events -= old->plan->capacity;
	cpumask_set_cpu(new->cpu, group->cpus.running);
}

/**
 * mg_replace_commit - replace a member; the new one starts if the old one counted
 * @group:	the meta-group
 * @old:	the member, which the caller destroys afterwards
 * @new:	reserved
 *
 * Context: Process context, may sleep. mg_group.mutex is held. Takes mg_cpu.lock
 * and cpu_hotplug_lock.
 */
void mg_replace_commit(struct mg_group *group, struct mg_member *old, struct mg_member *new)
{
	struct mg_control start = { .op = MG_VIEW_START, .first = old->id, .last = old->id };

	new->id = old->id;
	new->generation = old->generation + 1;
	mg_frames_replace(&group->frames, mg_frames_find(&group->frames, old->id), new);
	mg_replace_on_cpu(group, old, new);
	if (!old->view->stopped)
		mg_control_sets(group, &start);
}
