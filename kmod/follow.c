// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets that follow CPU hotplug: when a CPU comes online, the events of its members
 * are opened anew. perf may wait for CPU hotplug when it opens and releases
 * events, so a work item does it and not the callback.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/slab.h>

#include "compat/workqueue.h"
#include "control.h"
#include "follow.h"
#include "group.h"

static enum cpuhp_state mg_follow_hotplug;	/* constant */

/**
 * struct mg_reopen - a member whose events are opened anew
 * @id:		its number
 * @cpu:	its CPU
 * @shown_id:	identifier of its leader
 * @format:	read_format of its payload
 * @spec:	its events; a reference
 * @counter:	the new counter, then the old one
 */
struct mg_reopen {
	u32 id;
	int cpu;
	u64 shown_id;
	u64 format;
	struct mg_spec *spec;
	struct mg_counter *counter;
};

/*
 * A task may hold the mutex for long, in a page fault. To wait in the mutex would
 * look like a task that hangs.
 */
static void mg_follow_lock(struct mg_group *group)
{
	while (!mutex_trylock(&group->mutex))
		msleep(20);
}

static bool mg_is_to_be_opened(const struct mg_member *member, u32 round)
{
	return member->view && member->view->follow && member->view->round != round &&
	       !READ_ONCE(member->view->spec->revoked) && cpu_online(member->cpu) &&
	       mg_kernel_presence(member->counter) == PERF_METAGROUP_OFFLINE;
}

/*
 * A type that was that of a PMU may be that of another one now, so events of the same
 * set are not opened any more on any CPU.
 */
static void mg_follow_revoke(const struct mg_frames *frames)
{
	u32 i;

	for (i = 0; i < frames->nr_members; i++) {
		const struct mg_member *member = frames->members[i];

		if (member->view && mg_kernel_presence(member->counter) == PERF_METAGROUP_REVOKED)
			WRITE_ONCE(member->view->spec->revoked, true);
	}
}

/* Find the next member to be opened in this round. */
static bool mg_follow_next(struct mg_follow *follow, struct mg_reopen *reopen)
{
	const struct mg_frames *frames = &follow->group->frames;
	u32 round = atomic_read(&follow->round);
	u32 i;

	mg_follow_revoke(frames);
	for (i = 0; i < frames->nr_members; i++) {
		struct mg_member *member = frames->members[i];

		if (!mg_is_to_be_opened(member, round))
			continue;
		member->view->round = round;
		kref_get(&member->view->spec->refs);
		*reopen = (struct mg_reopen){
			.id = member->id,
			.cpu = member->cpu,
			.shown_id = mg_counter_id(member->counter),
			.format = member->counter->read_format,
			.spec = member->view->spec,
		};
		return true;
	}
	return false;
}

/* Continue what the member shows with the new counter. */
static void mg_follow_replace(struct mg_group *group, struct mg_member *member,
			      struct mg_reopen *reopen, struct mg_plan *plan)
{
	struct mg_counter *old = member->counter;
	struct mg_control stop = { .op = MG_VIEW_STOP, .first = member->id, .last = member->id };
	struct mg_control start = stop;
	bool stopped = member->view->stopped;

	mg_control_sets(group, &stop);
	mg_cpus_replace_counter(&group->cpus, member, reopen->counter, plan);
	start.op = MG_VIEW_START;
	if (!stopped)
		mg_control_sets(group, &start);
	reopen->counter = old;
}

/*
 * Return false if the member is detached, or has other events. @plan is used, or
 * not, if there is one.
 */
static bool mg_follow_finish(struct mg_group *group, struct mg_reopen *reopen,
			     struct mg_plan *plan, int err, const struct mg_failure *failure)
{
	int index = mg_frames_find(&group->frames, reopen->id);
	struct mg_member *member;

	if (index < 0)
		return false;
	member = group->frames.members[index];
	if (member->view->spec != reopen->spec)
		return false;
	member->view->error = err;
	member->view->failure = *failure;
	if (err)
		return false;
	mg_follow_replace(group, member, reopen, plan);
	return true;
}

static void mg_follow_open(struct mg_group *group, struct mg_reopen *reopen)
{
	struct mg_failure failure = { .event = reopen->spec->nr_events };
	struct mg_plan *plan = NULL;
	int err = -ENOMEM;

	reopen->counter = mg_counter_create_kernel(reopen->spec->nr_events, reopen->format,
						   reopen->cpu);
	if (reopen->counter) {
		reopen->counter->id = reopen->shown_id;
		plan = mg_plan_alloc(reopen->counter, reopen->spec->nr_events);
	}
	if (plan)
		err = mg_counter_open_kernel(reopen->counter, reopen->spec, &failure);
	if (plan && !err)
		mg_kernel_plan(plan);

	mg_follow_lock(group);
	if (mg_follow_finish(group, reopen, plan, err, &failure))
		plan = NULL;
	mg_group_unlock(group);

	mg_plan_free(plan);
	if (reopen->counter)
		mg_counter_put(reopen->counter);
}

static void mg_follow_work(struct work_struct *work)
{
	struct mg_follow *follow = container_of(work, struct mg_follow, work);
	struct mg_group *group = follow->group;
	struct mg_reopen reopen;
	bool found;

	/* PMUs may not be ready for the CPU before it is online. */
	cpus_read_lock();
	cpus_read_unlock();
	for (;;) {
		mg_follow_lock(group);
		found = mg_follow_next(follow, &reopen);
		mg_group_unlock(group);
		if (!found)
			break;
		mg_follow_open(group, &reopen);
		mg_spec_put(reopen.spec);
	}
}

/* cpu_hotplug_lock is held for writing. */
static int mg_follow_online(unsigned int cpu, struct hlist_node *node)
{
	mg_follow_update(hlist_entry(node, struct mg_follow, hotplug));
	return 0;
}

/**
 * mg_follow_update - open the events of members whose CPU is online
 * @follow:	of their meta-group
 *
 * Context: Any.
 */
void mg_follow_update(struct mg_follow *follow)
{
	atomic_inc(&follow->round);
	/* No CPU has to have time for it. */
	queue_work(system_dfl_wq, &follow->work);
}

/**
 * mg_follow_create - have the events of sets follow CPU hotplug
 * @group:	the meta-group, which outlives it
 *
 * Context: Process context, may sleep. Takes cpu_hotplug_lock.
 * Return: the new object, or an ERR_PTR().
 */
struct mg_follow *mg_follow_create(struct mg_group *group)
{
	struct mg_follow *follow = kzalloc(sizeof(*follow), GFP_KERNEL_ACCOUNT);
	int err;

	if (!follow)
		return ERR_PTR(-ENOMEM);
	follow->group = group;
	INIT_WORK(&follow->work, mg_follow_work);
	err = cpuhp_state_add_instance_nocalls(mg_follow_hotplug, &follow->hotplug);
	if (err) {
		kfree(follow);
		return ERR_PTR(err);
	}
	return follow;
}

/**
 * mg_follow_destroy - stop following
 * @follow:	no other user is left; or NULL
 *
 * Context: Process context, may sleep. Takes cpu_hotplug_lock. mg_group.mutex is
 * not held.
 */
void mg_follow_destroy(struct mg_follow *follow)
{
	if (!follow)
		return;
	cpuhp_state_remove_instance_nocalls(mg_follow_hotplug, &follow->hotplug);
	cancel_work_sync(&follow->work);
	kfree(follow);
}

/**
 * mg_follow_init - prepare to follow CPUs that come online
 *
 * Return: 0 or an error.
 */
int mg_follow_init(void)
{
	int state = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "perf/metagroup:follow",
					    mg_follow_online, NULL);

	if (state < 0)
		return state;
	mg_follow_hotplug = state;
	return 0;
}

/**
 * mg_follow_exit - undo mg_follow_init()
 */
void mg_follow_exit(void)
{
	cpuhp_remove_multi_state(mg_follow_hotplug);
}
