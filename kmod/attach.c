// SPDX-License-Identifier: GPL-2.0-only
/*
 * Members come and go.
 */
#include <linux/err.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

#include "group.h"

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
		mg_event_describe(&added[i]->source, &info, NULL, 0);
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
				  READ_ONCE(added[linked]->source.leader->cpu)) >= MG_MAX_PER_CPU)
			err = -E2BIG;

	/* Last: what it has enlarged stays so. */
	mg_snapshot_write_begin(&group->snapshot);
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
	mg_snapshot_write_end(&group->snapshot);
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
int mg_group_find(const struct mg_group *group, u32 id)
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

/* With the mutex held. Return: the member, which is to be destroyed without it. */
static struct mg_member *mg_group_remove(struct mg_group *group, u32 index)
{
	struct mg_member *member = group->members[index];

	mg_group_unlink(group, member);
	group->nr_members--;
	memmove(&group->members[index], &group->members[index + 1],
		(group->nr_members - index) * sizeof(*group->members));
	mg_snapshot_write_begin(&group->snapshot);
	/* Who is given the handle later has no right to what is gone. */
	mg_snapshot_clear(&group->snapshot, group->nr_members + 1);
	if (!group->nr_members)
		mg_snapshot_reset(&group->snapshot);
	mg_group_lay_out(group);
	mg_snapshot_write_end(&group->snapshot);
	return member;
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
	member = mg_group_remove(group, index);
	mg_group_unlock(group);

	mg_member_destroy(member);
	return 0;
}

/* Undo mg_group_attach(); nobody was told of the new members yet. */
void mg_group_detach_new(struct mg_group *group, u32 first, u32 count)
{
	struct mg_member *member;
	int index;

	while (count--) {
		/* No signal may leave some of them attached. */
		mutex_lock(&group->mutex);
		index = mg_group_find(group, first + count);
		member = index < 0 ? NULL : mg_group_remove(group, index);
		mg_group_unlock(group);
		if (member)
			mg_member_destroy(member);
	}
}
