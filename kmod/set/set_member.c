// SPDX-License-Identifier: GPL-2.0-only
/*
 * Set members, and the operations that the core calls for them.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "core/layers.h"
#include "core/limit.h"
#include "core/member.h"
#include "set/cpu_work.h"
#include "set/kernel_counter.h"
#include "set/perf_kernel.h"
#include "set/set_member.h"
#include "set/view.h"

static void mg_set_member_describe(const struct mg_member *member, struct mg_event_info *info,
				   u64 *ids, u32 max_ids)
{
	mg_view_describe(member->view, info, ids, max_ids);
	info->users = mg_kernel_counter_users(member->counter);
}

static void mg_set_members_destroy(struct mg_member **members, u32 count)
{
	struct mg_cpu_work *work = kvcalloc(count, sizeof(*work), GFP_KERNEL);
	u32 i;

	for (i = 0; i < count; i++) {
		struct mg_member *member = members[i];
		struct mg_counter *counter = member->counter;

		mg_limit_remove_events(member->view->limit, counter->nr_kernel);
		mg_view_destroy(member->view);
		mg_plan_free(member->plan);
		kfree(member);
		if (work)
			work[i] = (struct mg_cpu_work){ .cpu = counter->cpu, .item = counter };
		else
			mg_kernel_counter_free(counter);
	}
	if (work)
		mg_kernel_counters_free(work, count);
	kvfree(work);
}

static const struct mg_set_ops mg_set_ops = {
	.update = mg_view_update,
	.show = mg_view_apply,
	.describe = mg_kernel_describe,
	.describe_member = mg_set_member_describe,
	.destroy = mg_set_members_destroy,
};

/**
 * mg_set_counter_create - create the counter of a set member
 * @nr_events:	number of its events
 * @format:	read_format of the payload
 * @cpu:	their CPU
 *
 * Context: Process context, may sleep.
 * Return: the counter, or NULL.
 */
struct mg_counter *mg_set_counter_create(u32 nr_events, u64 format, int cpu)
{
	return mg_kernel_counter_create(nr_events, format, cpu, &mg_set_ops);
}

/**
 * mg_set_member_create - create a member whose kernel events are not open yet
 * @spec:	what they count
 * @format:	read_format of the payload
 * @cpu:	their CPU
 * @follow:	its events are reopened when its CPU comes online
 *
 * Allocates everything except the events, so that this memory is charged to the caller.
 *
 * Context: Process context, may sleep.
 * Return: the member, or an ERR_PTR().
 */
struct mg_member *mg_set_member_create(struct mg_spec *spec, u64 format, int cpu, bool follow)
{
	struct mg_counter *counter = mg_set_counter_create(spec->nr_events, format, cpu);
	struct mg_member *member;

	if (!counter)
		return ERR_PTR(-ENOMEM);
	member = kzalloc(sizeof(*member), GFP_KERNEL_ACCOUNT);
	if (!member)
		goto free_counter;
	member->counter = counter;
	member->plan = mg_plan_alloc(counter, spec->nr_events);
	member->view = mg_view_create(counter, spec, follow);
	if (!member->plan || !member->view)
		goto free_member;
	member->scratch = member->view->payload;
	counter->id = member->view->ids[0];
	return member;

free_member:
	mg_view_destroy(member->view);
	mg_plan_free(member->plan);
	kfree(member);
free_counter:
	mg_kernel_counter_free(counter);
	return ERR_PTR(-ENOMEM);
}

/**
 * mg_set_member_share - share kernel events with a member, if all of them are open
 * @member:	newly created
 *
 * Context: Process context, may sleep.
 * Return: true, or false if the caller must call mg_set_member_open().
 */
bool mg_set_member_share(struct mg_member *member)
{
	if (!mg_kernel_counter_share(member->counter, member->view->spec->attrs))
		return false;
	mg_kernel_plan(member->plan);
	return true;
}

/**
 * mg_set_member_open - open the kernel events of a member
 * @member:	newly created
 *
 * If the member follows CPU hotplug, the CPU may be offline. The member is stopped, and
 * its counts are 0. On an error, @view->failure is set if an event is the cause.
 *
 * Context: Process context, may sleep; fastest on the CPU of the events.
 * Return: 0 or an error.
 */
int mg_set_member_open(struct mg_member *member)
{
	struct mg_view *view = member->view;
	const struct mg_failure before = view->failure;
	/* The CPU may come online and go offline at any time. */
	bool offline = !cpu_online(member->counter->cpu);
	int err = mg_kernel_counter_open(member->counter, view->spec, &view->failure);

	if (err == -ENODEV && view->follow && (offline || !cpu_online(member->counter->cpu))) {
		view->failure = before;
		mg_kernel_counter_leave_closed(member->counter);
		err = 0;
	}
	if (!err)
		mg_kernel_plan(member->plan);
	return err;
}
