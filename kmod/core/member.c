// SPDX-License-Identifier: GPL-2.0-only
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "core/layers.h"
#include "core/member.h"

static DEFINE_MUTEX(mg_claims_mutex);	/* mg_counter.owner of all counters */

/**
 * mg_member_create - create a member that is not attached yet
 * @fd:		descriptor of the leader
 * @reason:	set to PERF_METAGROUP_REASON_* if @fd is the cause of an error
 *
 * Context: Process context, may sleep.
 * Return: the member, or an ERR_PTR().
 */
struct mg_member *mg_member_create(int fd, u32 *reason)
{
	struct mg_counter *counter;
	struct mg_event_info info;
	struct mg_member *member;

	counter = mg_counter_open(fd, reason);
	if (IS_ERR(counter))
		return ERR_CAST(counter);

	member = kzalloc(sizeof(*member), GFP_KERNEL_ACCOUNT);
	if (!member)
		goto put_counter;
	/* If the group grows or moves after this, the first sweep corrects the member. */
	mg_counter_describe(counter, &info, NULL, 0);
	member->plan = mg_plan_alloc(counter, info.nr_in_payload);
	if (!member->plan)
		goto free_member;
	member->counter = counter;
	return member;

free_member:
	kfree(member);
put_counter:
	mg_counter_put(counter);
	return ERR_PTR(-ENOMEM);
}

/**
 * mg_status_name - the name of a status in text
 * @status:	of mg_member_describe() or mg_counter_describe()
 *
 * Return: the name.
 */
const char *mg_status_name(u32 status)
{
	static const char * const names[] = {
		[PERF_METAGROUP_OK] = "ok",
		[PERF_METAGROUP_INACTIVE] = "inactive",
		[PERF_METAGROUP_OFF] = "off",
		[PERF_METAGROUP_ERROR] = "error",
		[PERF_METAGROUP_OFFLINE] = "offline",
		[PERF_METAGROUP_REVOKED] = "revoked",
	};

	return names[status];
}

/**
 * mg_member_describe - describe a member without reading it
 * @member:	the member
 * @info:	result
 * @ids:	result: ids of its events
 * @max_ids:	entries of @ids
 *
 * Context: Process context, may sleep. mg_group.mutex is held.
 * Return: 0 or -EAGAIN.
 */
int mg_member_describe(const struct mg_member *member, struct mg_event_info *info,
		       u64 *ids, u32 max_ids)
{
	int err = mg_counter_describe_wait(member->counter, info, ids, max_ids);

	info->generation = member->generation;
	info->error = 0;
	info->failed = info->nr_events;
	info->reason = PERF_METAGROUP_REASON_NONE;
	info->users = 0;
	if (member->counter->ops)
		member->counter->ops->describe_member(member, info, ids, max_ids);
	return err;
}

/**
 * mg_member_claim - become the owner of the counters of all members, or of none
 * @members:	members that are not attached
 * @count:	entries of @members
 * @failed:	set to the index of the first member whose counter has an owner
 *
 * Other callers never see a claim that is undone.
 *
 * Context: Process context, may sleep. Takes mg_claims_mutex.
 * Return: 0, or -EBUSY.
 */
int mg_member_claim(struct mg_member **members, u32 count, u32 *failed)
{
	int err = 0;
	u32 i;

	mutex_lock(&mg_claims_mutex);
	for (i = 0; i < count; i++) {
		if (members[i]->counter->owner) {
			*failed = i;
			err = -EBUSY;
			break;
		}
		members[i]->counter->owner = members[i];
	}
	if (err)
		while (i--)
			members[i]->counter->owner = NULL;
	mutex_unlock(&mg_claims_mutex);
	return err;
}

/**
 * mg_members_destroy - free members, attached or not
 * @members:	the members, on no list; changed
 * @count:	entries of @members
 *
 * Context: Process context, may sleep. cpu_hotplug_lock is not held. Takes
 * mg_claims_mutex.
 */
void mg_members_destroy(struct mg_member **members, u32 count)
{
	const struct mg_set_ops *ops = NULL;
	u32 of_sets = 0;
	u32 i;

	mutex_lock(&mg_claims_mutex);
	for (i = 0; i < count; i++)
		if (members[i]->counter->owner == members[i])
			members[i]->counter->owner = NULL;
	mutex_unlock(&mg_claims_mutex);

	for (i = 0; i < count; i++) {
		struct mg_member *member = members[i];

		if (member->counter->ops) {
			ops = member->counter->ops;
			members[of_sets++] = member;
			continue;
		}
		mg_counter_put(member->counter);
		mg_plan_free(member->plan);
		kfree(member);
	}
	if (of_sets)
		ops->destroy(members, of_sets);
}
