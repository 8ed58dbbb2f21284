// SPDX-License-Identifier: GPL-2.0-only
#include <linux/err.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

#include "event.h"
#include "group.h"

/* A move between CPUs is waited for; this often, it moves again meanwhile. */
#define MG_MOVE_TRIES	4

struct mg_group *mg_group_create(void)
{
	struct mg_group *group;

	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return ERR_PTR(-ENOMEM);

	mutex_init(&group->mutex);
	kref_init(&group->refs);
	group->on_cpu = kvcalloc(nr_cpu_ids, sizeof(*group->on_cpu),
				 GFP_KERNEL_ACCOUNT);
	if (!group->on_cpu ||
	    !zalloc_cpumask_var(&group->cpus, GFP_KERNEL_ACCOUNT) ||
	    !zalloc_cpumask_var(&group->running, GFP_KERNEL_ACCOUNT) ||
	    !zalloc_cpumask_var(&group->targets, GFP_KERNEL_ACCOUNT) ||
	    mg_snapshot_reserve(&group->snapshot, 1, 0)) {
		mg_group_put(group);
		return ERR_PTR(-ENOMEM);
	}
	return group;
}

static void mg_group_free(struct kref *refs)
{
	struct mg_group *group = container_of(refs, struct mg_group, refs);
	u32 i;

	for (i = 0; i < group->nr_members; i++)
		mg_member_destroy(group->members[i]);
	kvfree(group->members);
	mg_snapshot_free(&group->snapshot);
	free_cpumask_var(group->targets);
	free_cpumask_var(group->running);
	free_cpumask_var(group->cpus);
	kvfree(group->on_cpu);
	mutex_destroy(&group->mutex);
	kfree(group);
}

void mg_group_put(struct mg_group *group)
{
	kref_put(&group->refs, mg_group_free);
}

/* Give every member its frame. Payloads are void until the next sweep. */
static void mg_group_lay_out(struct mg_group *group)
{
	struct perf_metagroup_record *record;
	struct mg_member *member;
	u32 i;

	for (i = 0; i < group->nr_members; i++) {
		member = group->members[i];
		record = mg_snapshot_frame(&group->snapshot, i);
		*record = (struct perf_metagroup_record){
			.header = sizeof(*record),
			.member = member->id,
			.cpu = member->cpu,
			.status = PERF_METAGROUP_STALE,
			.read_format = member->leader->attr.read_format,
		};
		member->record = record;
	}
}

/* Make room for payloads of @payload bytes in all frames. */
int mg_group_grow(struct mg_group *group, u32 payload)
{
	int err;

	err = mg_snapshot_reserve(&group->snapshot, group->nr_members, payload);
	if (!err)
		mg_group_lay_out(group);
	return err;
}

/* Put @member last on @cpu. Return: how many are there before it. */
static u32 mg_group_link(struct mg_group *group, struct mg_member *member, int cpu)
{
	struct mg_member **link = &group->on_cpu[cpu];
	u32 before = 0;

	for (; *link; link = &(*link)->next)
		before++;
	*link = member;
	member->next = NULL;
	member->cpu = cpu;
	cpumask_set_cpu(cpu, group->cpus);
	cpumask_set_cpu(cpu, group->running);
	return before;
}

static void mg_group_unlink(struct mg_group *group, struct mg_member *member)
{
	struct mg_member **link = &group->on_cpu[member->cpu];

	while (*link != member)
		link = &(*link)->next;
	*link = member->next;
	if (!group->on_cpu[member->cpu]) {
		cpumask_clear_cpu(member->cpu, group->cpus);
		cpumask_clear_cpu(member->cpu, group->running);
	}
}

/* Follow an event that its PMU has moved to another CPU. */
void mg_group_rehome(struct mg_group *group, struct mg_member *member)
{
	mg_event_wait_moved(member->leader);
	mg_group_unlink(group, member);
	mg_group_link(group, member, READ_ONCE(member->leader->cpu));
	member->record->cpu = member->cpu;
}

int mg_member_describe(struct mg_member *member, struct mg_event_info *info,
		       u64 *ids, u32 max_ids)
{
	int tries = MG_MOVE_TRIES;
	int err;

	for (;;) {
		err = mg_event_describe(member->leader, info, ids, max_ids);
		if (err != -EAGAIN || !--tries)
			return err;
		mg_event_wait_moved(member->leader);
	}
}

/* All memory that @count more members need, so that adding them cannot fail. */
static int mg_group_reserve(struct mg_group *group, struct mg_member **added,
			    u32 count)
{
	u32 nr = group->nr_members + count;
	u32 payload = 0;
	u32 i;

	if (nr > MG_MAX_MEMBERS)
		return -E2BIG;
	if (count > U32_MAX - group->next_id)
		return -ENOSPC;

	for (i = 0; i < count; i++) {
		struct mg_event_info info;

		/* Being moved is no obstacle: a sweep grows what is too small. */
		mg_event_describe(added[i]->leader, &info, NULL, 0);
		payload = max(payload, info.payload);
	}

	if (nr > group->room) {
		u32 room = min_t(u32, max(nr, 2 * group->room), MG_MAX_MEMBERS);
		struct mg_member **members;

		members = kvcalloc(room, sizeof(*members), GFP_KERNEL_ACCOUNT);
		if (!members)
			return -ENOMEM;
		memcpy(members, group->members,
		       group->nr_members * sizeof(*members));
		kvfree(group->members);
		group->members = members;
		group->room = room;
	}

	return mg_snapshot_reserve(&group->snapshot, nr, payload);
}

static int mg_group_add(struct mg_group *group, struct mg_member **added,
			u32 count, u32 *first)
{
	u32 linked;
	u32 i;
	int err;

	err = mg_group_lock(group);
	if (err)
		return err;

	for (linked = 0; linked < count && !err; linked++)
		if (mg_group_link(group, added[linked],
				  READ_ONCE(added[linked]->leader->cpu)) >= MG_MAX_PER_CPU)
			err = -E2BIG;

	/* Last: what it has enlarged stays so. */
	if (!err)
		err = mg_group_reserve(group, added, count);
	if (err) {
		while (linked--)
			mg_group_unlink(group, added[linked]);
		goto unlock;
	}

	*first = group->next_id;
	for (i = 0; i < count; i++) {
		added[i]->id = group->next_id++;
		group->members[group->nr_members++] = added[i];
	}
	mg_group_lay_out(group);
unlock:
	mg_group_unlock(group);
	return err;
}

/* @failed and @reason are written if one of @fds is to blame. */
int mg_group_attach(struct mg_group *group, const s32 *fds, u32 count,
		    u32 *first, u32 *failed, u32 *reason)
{
	struct mg_member **added;
	u32 nr;
	int err;

	added = kvcalloc(count, sizeof(*added), GFP_KERNEL_ACCOUNT);
	if (!added)
		return -ENOMEM;

	for (nr = 0; nr < count; nr++) {
		added[nr] = mg_member_create(fds[nr], reason);
		if (IS_ERR(added[nr])) {
			err = PTR_ERR(added[nr]);
			if (*reason != PERF_METAGROUP_REASON_NONE)
				*failed = nr;
			goto undo;
		}
	}

	err = mg_group_add(group, added, count, first);
	if (!err)
		goto free;
undo:
	while (nr--)
		mg_member_destroy(added[nr]);
free:
	kvfree(added);
	return err;
}

/* Index of member @id, or -ENOENT. Ids rise with the index. */
static int mg_group_find(const struct mg_group *group, u32 id)
{
	u32 low = 0, high = group->nr_members;

	while (low < high) {
		u32 mid = low + (high - low) / 2;

		if (group->members[mid]->id < id)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < group->nr_members && group->members[low]->id == id)
		return low;
	return -ENOENT;
}

int mg_group_detach(struct mg_group *group, u32 id)
{
	struct mg_member *member;
	int index;
	int err;

	err = mg_group_lock(group);
	if (err)
		return err;

	index = mg_group_find(group, id);
	if (index < 0) {
		mg_group_unlock(group);
		return index;
	}

	member = group->members[index];
	mg_group_unlink(group, member);
	group->nr_members--;
	memmove(&group->members[index], &group->members[index + 1],
		(group->nr_members - index) * sizeof(*group->members));
	if (!group->nr_members)
		mg_snapshot_reset(&group->snapshot);
	mg_group_lay_out(group);
	mg_group_unlock(group);

	mg_member_destroy(member);
	return 0;
}

/*
 * PERF_EVENT_IOC_ENABLE and the like for every leader and its siblings. The
 * leader's own ioctl does it: it alone may walk the siblings under ctx->mutex,
 * and it asks the security module.
 */
int mg_group_control(struct mg_group *group, unsigned int perf_cmd)
{
	u32 i;
	int first = 0;
	int err;

	err = mg_group_lock(group);
	if (err)
		return err;

	for (i = 0; i < group->nr_members; i++) {
		struct file *file = group->members[i]->file;

		err = file->f_op->unlocked_ioctl(file, perf_cmd, PERF_IOC_FLAG_GROUP);
		if (err && !first)
			first = err;
	}
	mg_group_unlock(group);
	return first;
}

int mg_group_info(struct mg_group *group, struct mg_group_info *info)
{
	u32 i;
	int err;

	err = mg_group_lock(group);
	if (err)
		return err;

	info->members = group->nr_members;
	info->cpus = cpumask_weight(group->cpus);
	info->framed_size = mg_snapshot_size(&group->snapshot, group->nr_members);
	info->raw_size = 0;
	for (i = 0; i < group->nr_members; i++) {
		struct mg_event_info event;

		mg_event_describe(group->members[i]->leader, &event, NULL, 0);
		info->raw_size += event.payload;
	}
	mg_group_unlock(group);
	return 0;
}

int mg_group_member(struct mg_group *group, u32 id, struct mg_event_info *info,
		    u64 *ids, u32 max_ids)
{
	int index;
	int err;

	err = mg_group_lock(group);
	if (err)
		return err;

	index = mg_group_find(group, id);
	err = index < 0 ? index : mg_member_describe(group->members[index], info,
						     ids, max_ids);
	mg_group_unlock(group);
	return err;
}
