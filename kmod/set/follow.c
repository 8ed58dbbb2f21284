// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets that follow CPU hotplug: when a CPU comes online, the events of its members
 * are reopened. perf may wait for CPU hotplug when it opens and releases events, so
 * a work item reopens them, not the callback.
 */
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "core/group.h"
#include "set/control.h"
#include "set/follow.h"
#include "set/kernel_counter.h"
#include "set/set_member.h"
#include "set/view.h"

/* Meta-groups that are worked on at a time: if some have to wait, others still proceed. */
#define MG_FOLLOW_AT_ONCE	4

/* Delay until the mutex is tried again. */
#define MG_FOLLOW_DELAY		(HZ / 50)

static enum cpuhp_state mg_follow_hotplug;	/* constant */
static struct workqueue_struct *mg_follow_wq;	/* constant */

static bool mg_is_to_be_opened(const struct mg_member *member)
{
	return member->view && member->view->follow &&
	       !READ_ONCE(member->view->spec->revoked) && cpu_online(member->cpu) &&
	       mg_kernel_presence(member->counter) == PERF_METAGROUP_OFFLINE;
}

/*
 * The type of a PMU that was unregistered may now belong to another PMU, so no event of
 * the set is reopened on any CPU.
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

/* Find the next member to reopen in this round. Members are in ascending order of ids. */
static bool mg_follow_next(struct mg_follow *follow)
{
	const struct mg_frames *frames = &follow->group->frames;
	int round = atomic_read(&follow->round);
	u32 i;

	if (follow->begun != round) {
		follow->begun = round;
		follow->next = 0;
		mg_follow_revoke(frames);
	}
	for (i = 0; i < frames->nr_members; i++) {
		struct mg_member *member = frames->members[i];

		if (member->id < follow->next)
			continue;
		follow->next = member->id + 1;
		if (!mg_is_to_be_opened(member))
			continue;
		kref_get(&member->view->spec->refs);
		follow->reopen = (struct mg_reopen){
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

static int mg_reopen_alloc(struct mg_reopen *reopen)
{
	u32 nr_events = reopen->spec->nr_events;

	reopen->failure = (struct mg_failure){
		.event = nr_events,
		.cpu = PERF_METAGROUP_NO_CPU,
	};
	reopen->counter = mg_set_counter_create(nr_events, reopen->format, reopen->cpu);
	if (!reopen->counter)
		return -ENOMEM;
	reopen->counter->id = reopen->shown_id;
	reopen->plan = mg_plan_alloc(reopen->counter, nr_events);
	return reopen->plan ? 0 : -ENOMEM;
}

/* Open the events. No mutex of a meta-group is held. */
static void mg_reopen_events(struct mg_reopen *reopen)
{
	reopen->err = mg_reopen_alloc(reopen) ?:
		mg_kernel_counter_open(reopen->counter, reopen->spec, &reopen->failure);
	if (!reopen->err)
		mg_kernel_plan(reopen->plan);
}

/* Release what is not or no longer used. No mutex of a meta-group is held. */
static void mg_reopen_end(struct mg_reopen *reopen)
{
	mg_plan_free(reopen->plan);
	if (reopen->counter)
		mg_kernel_counter_free(reopen->counter);
	mg_spec_put(reopen->spec);
}

/* Exchange counter and plan of the member for the new ones. */
static void mg_follow_exchange(struct mg_group *group, struct mg_member *member,
			       struct mg_reopen *reopen)
{
	struct mg_cpu *on_cpu = &group->cpus.on_cpu[member->cpu];

	raw_spin_lock_irq(&on_cpu->lock);
	mg_cpu_idle_invalidate(on_cpu);
	swap(member->plan, reopen->plan);
	swap(member->counter, reopen->counter);
	member->generation++;
	raw_spin_unlock_irq(&on_cpu->lock);
	mg_member_unwrite(member);
}

/* Let the member continue with the new counter from what it shows. */
static void mg_follow_replace(struct mg_group *group, struct mg_member *member,
			      struct mg_reopen *reopen)
{
	struct mg_control stop = { .op = MG_VIEW_STOP, .first = member->id, .last = member->id };
	struct mg_control start = stop;
	bool stopped = member->view->stopped;

	mg_control_sets(group, &stop);
	mg_follow_exchange(group, member, reopen);
	start.op = MG_VIEW_START;
	if (!stopped)
		mg_control_sets(group, &start);
}

/* Do nothing if the member was detached or has other events. */
static void mg_follow_finish(struct mg_group *group, struct mg_reopen *reopen)
{
	int index = mg_frames_find(&group->frames, reopen->id);
	struct mg_member *member;

	if (index < 0)
		return;
	member = group->frames.members[index];
	if (member->view->spec != reopen->spec)
		return;
	member->view->error = reopen->err;
	member->view->failure = reopen->failure;
	if (!reopen->err)
		mg_follow_replace(group, member, reopen);
}

/*
 * A task in a page fault may hold the mutex indefinitely, so no worker waits for it:
 * there are only a few workers. The delay grows to keep repeated attempts cheap.
 */
static bool mg_follow_lock(struct mg_follow *follow)
{
	if (mutex_trylock(&follow->group->mutex)) {
		follow->tries = 0;
		return true;
	}
	queue_delayed_work(mg_follow_wq, &follow->work, MG_FOLLOW_DELAY << follow->tries);
	follow->tries = min(follow->tries + 1, 4U);
	return false;
}

static void mg_follow_work(struct work_struct *work)
{
	struct mg_follow *follow = container_of(to_delayed_work(work), struct mg_follow, work);
	struct mg_group *group = follow->group;
	struct mg_reopen done;
	bool found;

	/* PMUs may not be ready for the CPU before it is online. */
	cpus_read_lock();
	cpus_read_unlock();
	while (mg_follow_lock(follow)) {
		if (follow->reopen.spec)
			mg_follow_finish(group, &follow->reopen);
		done = follow->reopen;
		follow->reopen = (struct mg_reopen){ };
		found = mg_follow_next(follow);
		mg_group_unlock(group);

		mg_reopen_end(&done);
		if (!found)
			return;
		mg_reopen_events(&follow->reopen);
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
	mod_delayed_work(mg_follow_wq, &follow->work, 0);
}

/**
 * mg_follow_create - let the events of sets follow CPU hotplug
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
	INIT_DELAYED_WORK(&follow->work, mg_follow_work);
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
	cancel_delayed_work_sync(&follow->work);
	mg_reopen_end(&follow->reopen);
	kfree(follow);
}

/**
 * mg_follow_init - prepare to follow CPUs that come online
 *
 * Return: 0 or an error.
 */
int mg_follow_init(void)
{
	int state;

	/* Unbound: this work must not depend on any particular CPU. */
	mg_follow_wq = alloc_workqueue("perf_metagroup", WQ_UNBOUND, MG_FOLLOW_AT_ONCE);
	if (!mg_follow_wq)
		return -ENOMEM;
	state = cpuhp_setup_state_multi(CPUHP_AP_ONLINE_DYN, "perf/metagroup:follow",
					mg_follow_online, NULL);
	if (state < 0) {
		destroy_workqueue(mg_follow_wq);
		return state;
	}
	mg_follow_hotplug = state;
	return 0;
}

/**
 * mg_follow_exit - undo mg_follow_init()
 */
void mg_follow_exit(void)
{
	cpuhp_remove_multi_state(mg_follow_hotplug);
	destroy_workqueue(mg_follow_wq);
}
