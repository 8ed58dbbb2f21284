// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>

#include "core/fixup.h"
#include "core/group.h"

/* Time until the next attempt to enlarge a frame after a failure. */
#define MG_GROW_INTERVAL	HZ

static int mg_member_resize(struct mg_group *group, struct mg_member *member, u32 capacity)
{
	const struct mg_cpu *on_cpu = &group->cpus.on_cpu[member->cpu];
	struct mg_frames *frames = &group->frames;
	u32 nr_events = on_cpu->nr_events - member->plan->capacity + capacity;
	u64 size = frames->size - mg_member_frame_size(member) +
		   mg_frame_size(member->counter, capacity);
	struct mg_plan *plan;
	int err;

	if (nr_events > MG_MAX_EVENTS_PER_CPU)
		return -E2BIG;
	if (!mg_cpu_has_room(on_cpu, (u64)on_cpu->sample_room - mg_sample_room(member) +
				     mg_sample_room_of(member->counter, capacity)))
		return -ENOSPC;
	err = mg_snapshot_reserve(&frames->snapshot, size);
	if (err)
		return err;
	plan = mg_plan_alloc(member->counter, capacity);
	if (!plan)
		return -ENOMEM;

	mg_cpus_replace_plan(&group->cpus, member, plan);
	frames->size = size;
	return 0;
}

/* Enlarge the frame of a member whose group has grown. */
static int mg_member_grow(struct mg_group *group, struct mg_member *member)
{
	u32 capacity = member->plan->capacity;
	struct mg_event_info info;
	int err;

	if (member->grow_error && time_before(jiffies, member->grow_after))
		return member->grow_error;

	mg_counter_describe(member->counter, &info, NULL, 0);
	if (info.nr_in_payload <= capacity)
		return 0;
	err = mg_member_resize(group, member,
			       clamp(2 * capacity, info.nr_in_payload,
				     mg_counter_max_events(member->counter)));
	if (err)
		err = mg_member_resize(group, member, info.nr_in_payload);
	member->grow_error = err;
	member->grow_after = jiffies + MG_GROW_INTERVAL;
	return err;
}

/*
 * Enlarge all frames that were too small. A member that cannot grow stays STALE;
 * the others are not affected.
 *
 * Return: true if the frames were laid out again, so all members must be read.
 */
static bool mg_fixup_grow(struct mg_group *group)
{
	struct mg_frames *frames = &group->frames;
	bool grown = false;
	u32 i;

	for (i = 0; i < frames->nr_members; i++) {
		struct mg_member *member = frames->members[i];

		if (member->error != -EMSGSIZE)
			continue;
		member->error = mg_member_grow(group, member);
		if (!member->error)
			grown = true;
	}
	/* Even if no frame was enlarged, replaced memory has no frames yet. */
	if (!grown && mg_frames_are_laid_out(frames))
		return false;
	mg_frames_lay_out(frames);
	return true;
}

/*
 * Follow a member that its PMU has moved to another CPU. The move cannot be
 * refused, so that CPU may exceed MG_MAX_EVENTS_PER_CPU.
 */
static void mg_member_migrate(struct mg_group *group, struct mg_member *member)
{
	mg_event_wait_moved(member->counter->leader);
	mg_cpus_remove(&group->cpus, member);
	mg_cpus_add(&group->cpus, member, mg_counter_cpu(member->counter));
	mg_member_unwrite(member);
	group->migrated = true;
}

/**
 * mg_fixup - resolve the reasons why members could not be read
 * @group:	the meta-group
 *
 * Enlarges frames that were too small and follows members that have moved. An
 * error of a PMU remains: another attempt would not change it.
 *
 * Context: Process context, may sleep. mg_group.mutex is held, within a sweep,
 * while no handler runs. Takes ctx->mutex and mg_cpu.lock.
 * Return: true if the sweep must be repeated.
 */
bool mg_fixup(struct mg_group *group)
{
	bool again = false;
	bool grow = false;
	u32 i;

	for (i = 0; i < group->frames.nr_members; i++) {
		struct mg_member *member = group->frames.members[i];

		if (!cpumask_test_cpu(member->cpu, group->selected))
			continue;
		switch (member->error) {
		case -EMSGSIZE:
			grow = true;
			break;
		case -EBUSY:
		case -EAGAIN:
			mg_member_migrate(group, member);
			again = true;
			break;
		}
	}
	if (grow && mg_fixup_grow(group))
		again = true;
	return again;
}
