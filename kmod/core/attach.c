// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "core/attach.h"
#include "core/group.h"

/**
 * mg_attach_prepare - create members for the leaders behind descriptors
 * @attach:	zeroed except for @failed
 * @fds:	the descriptors
 * @count:	entries of @fds, at most MG_MAX_MEMBERS
 *
 * Context: Process context, may sleep.
 * Return: 0 or an error. The caller must call mg_attach_end() in either case.
 */
int mg_attach_prepare(struct mg_attach *attach, const s32 *fds, u32 count)
{
	struct mg_member *member;
	u32 i;

	attach->members = kvcalloc(count, sizeof(*attach->members), GFP_KERNEL_ACCOUNT);
	if (!attach->members)
		return -ENOMEM;

	for (i = 0; i < count; i++) {
		member = mg_member_create(fds[i], &attach->reason);
		if (IS_ERR(member)) {
			if (attach->reason != PERF_METAGROUP_REASON_NONE)
				attach->failed = i;
			return PTR_ERR(member);
		}
		attach->members[attach->nr_members++] = member;
	}
	return 0;
}

/**
 * mg_attach_end - free members that were not attached
 * @attach:	prepared
 *
 * Context: Process context, may sleep.
 */
void mg_attach_end(struct mg_attach *attach)
{
	mg_members_destroy(attach->members, attach->nr_members);
	kvfree(attach->members);
}

/*
 * Set the CPUs of the new members and check the limits of these CPUs. If a leader
 * is moved after this, the next sweep follows it.
 */
static int mg_attach_select_cpus(struct mg_attach *attach, const struct mg_group *group)
{
	const struct mg_frames *frames = &group->frames;
	struct {
		u32 members;
		u32 events;
		u64 sample_room;
	} *on_cpu;
	int err = 0;
	int cpu;
	u32 i;

	on_cpu = kvcalloc(nr_cpu_ids, sizeof(*on_cpu), GFP_KERNEL_ACCOUNT);
	if (!on_cpu)
		return -ENOMEM;

	for (i = 0; i < frames->nr_members; i++)
		on_cpu[frames->members[i]->cpu].members++;
	for_each_cpu(cpu, group->cpus.mask) {
		on_cpu[cpu].events = group->cpus.on_cpu[cpu].nr_events;
		on_cpu[cpu].sample_room = group->cpus.on_cpu[cpu].sample_room;
	}
	for (i = 0; i < attach->nr_members; i++) {
		struct mg_member *member = attach->members[i];

		cpu = mg_counter_cpu(member->counter);
		member->cpu = cpu;
		on_cpu[cpu].events += member->plan->capacity;
		if (++on_cpu[cpu].members > MG_MAX_PER_CPU ||
		    on_cpu[cpu].events > MG_MAX_EVENTS_PER_CPU)
			err = -E2BIG;
		on_cpu[cpu].sample_room += mg_sample_room(member);
		if (!err && !mg_cpu_has_room(&group->cpus.on_cpu[cpu], on_cpu[cpu].sample_room))
			err = -ENOSPC;
	}
	kvfree(on_cpu);
	return err;
}

/**
 * mg_attach_reserve - check all limits and allocate all memory
 * @attach:	prepared
 * @group:	meta-group to attach to
 *
 * Context: Process context. mg_group.mutex is held until mg_attach_commit().
 * Return: 0, and @attach->first is valid; or -E2BIG, -ENOSPC or -ENOMEM.
 */
int mg_attach_reserve(struct mg_attach *attach, struct mg_group *group)
{
	struct mg_frames *frames = &group->frames;
	u32 nr = frames->nr_members + attach->nr_members;
	u64 size = frames->size;
	u32 i;
	int err;

	if (nr > MG_MAX_MEMBERS)
		return -E2BIG;
	if (attach->nr_members > U32_MAX - group->next_id)
		return -ENOSPC;
	err = mg_attach_select_cpus(attach, group);
	if (err)
		return err;

	for (i = 0; i < attach->nr_members; i++)
		size += mg_member_frame_size(attach->members[i]);
	err = mg_frames_reserve(frames, nr, MG_MAX_MEMBERS, size);
	if (!err)
		attach->first = group->next_id;
	return err;
}

/**
 * mg_attach_commit - make the members visible
 * @attach:	reserved
 * @group:	meta-group to attach to
 *
 * Context: Process context. mg_group.mutex is held. Takes mg_claims_mutex and
 * mg_cpu.lock.
 * Return: 0, or -EBUSY if a group already belongs to a meta-group.
 */
int mg_attach_commit(struct mg_attach *attach, struct mg_group *group)
{
	u32 i;
	int err;

	err = mg_member_claim(attach->members, attach->nr_members, &attach->failed);
	if (err) {
		attach->first = 0;
		attach->reason = PERF_METAGROUP_REASON_BUSY;
		return err;
	}

	for (i = 0; i < attach->nr_members; i++) {
		struct mg_member *member = attach->members[i];

		member->id = group->next_id++;
		mg_frames_add(&group->frames, member);
		mg_cpus_add(&group->cpus, member, member->cpu);
	}
	attach->nr_members = 0;
	return 0;
}

/**
 * mg_detach - detach one member
 * @group:	the meta-group
 * @id:		number of the member
 *
 * Context: Process context, may sleep. Takes mg_group.mutex.
 * Return: 0, -ENOENT or -ERESTARTSYS.
 */
int mg_detach(struct mg_group *group, u32 id)
{
	struct mg_member *member;
	int index;
	int err;

	err = mg_group_lock(group);
	if (err)
		return err;
	index = mg_frames_find(&group->frames, id);
	if (index < 0) {
		mg_group_unlock(group);
		return index;
	}
	member = mg_frames_remove(&group->frames, index);
	mg_cpus_remove(&group->cpus, member);
	mg_group_unlock(group);

	mg_members_destroy(&member, 1);
	return 0;
}
