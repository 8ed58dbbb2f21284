// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets: members with kernel events, opened on many CPUs by one call.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "core/group.h"
#include "core/limit.h"
#include "set/control.h"
#include "set/cpu_work.h"
#include "set/perf_kernel.h"
#include "set/set.h"
#include "set/set_member.h"
#include "set/view.h"

/* Allocate a member; its events are opened later. */
static struct mg_member *mg_set_create_member(const struct mg_set *set, int cpu)
{
	u32 nr_events = set->spec->nr_events;
	struct mg_member *member;

	if (!mg_limit_add_events(set->limit, nr_events))
		return ERR_PTR(-E2BIG);
	member = mg_set_member_create(set->spec, set->format, cpu, set->follow);
	if (IS_ERR(member))
		mg_limit_remove_events(set->limit, nr_events);
	else
		member->view->limit = set->limit;
	return member;
}

static int mg_set_create_members(struct mg_set *set, const struct cpumask *cpus)
{
	struct mg_attach *attach = &set->attach;
	struct mg_member *member;
	int cpu;

	attach->members = kvcalloc(cpumask_weight(cpus), sizeof(*attach->members),
				   GFP_KERNEL_ACCOUNT);
	if (!attach->members)
		return -ENOMEM;
	for_each_cpu(cpu, cpus) {
		member = mg_set_create_member(set, cpu);
		if (IS_ERR(member))
			return PTR_ERR(member);
		attach->members[attach->nr_members++] = member;
	}
	return 0;
}

static void mg_set_open_work(struct mg_cpu_work *work)
{
	struct mg_member *member = work->item;

	member->view->error = mg_set_member_open(member);
}

static int mg_set_open_works(struct mg_cpu_work *work, u32 count, u32 first)
{
	struct mg_cpu_works works = { .func = mg_set_open_work };
	struct mg_member *member = work[first].item;

	member->view->error = mg_set_member_open(member);
	if (member->view->error)
		return 0;
	swap(work[0], work[first]);
	return mg_cpu_works_run(&works, work + 1, count - 1, true);
}

/* The first error in the order of the members. */
static int mg_set_check_members(struct mg_set *set)
{
	u32 i;

	for (i = 0; i < set->attach.nr_members; i++) {
		const struct mg_member *member = set->attach.members[i];

		if (member->view->error) {
			set->failure = member->view->failure;
			return member->view->error;
		}
	}
	return 0;
}

/*
 * If the events are already open on a CPU, the new member shares them. Each other CPU
 * opens its own events. The caller opens the events of one CPU first, so that events
 * which cannot be opened at all do not disturb the other CPUs.
 */
static int mg_set_open_members(struct mg_set *set)
{
	struct mg_attach *attach = &set->attach;
	int here = raw_smp_processor_id();
	struct mg_cpu_work *work;
	u32 i, first = 0, count = 0;
	int err = 0;

	work = kvcalloc(attach->nr_members, sizeof(*work), GFP_KERNEL_ACCOUNT);
	if (!work)
		return -ENOMEM;
	for (i = 0; i < attach->nr_members; i++) {
		struct mg_member *member = attach->members[i];

		if (mg_set_member_share(member))
			continue;
		if (member->counter->cpu == here)
			first = count;
		work[count++] = (struct mg_cpu_work){
			.cpu = member->counter->cpu,
			.item = member,
		};
	}
	if (count)
		err = mg_set_open_works(work, count, first);
	kvfree(work);
	return err ?: mg_set_check_members(set);
}

/* perf has not checked the attrs before, so one CPU must have opened the events. */
static bool mg_set_is_opened(const struct mg_set *set)
{
	u32 i;

	for (i = 0; i < set->attach.nr_members; i++)
		if (mg_kernel_is_opened(set->attach.members[i]->counter))
			return true;
	return false;
}

/**
 * mg_set_prepare - open the events on all CPUs
 * @set:	with @spec, @format, @follow and @limit; @attach is zeroed
 * @cpus:	the CPUs
 *
 * Context: Process context, may sleep. As mg_cpu_works_run().
 * Return: 0 or an error. The caller must call mg_attach_end() in either case.
 */
int mg_set_prepare(struct mg_set *set, const struct cpumask *cpus)
{
	int err = mg_set_create_members(set, cpus);

	if (!err)
		err = mg_set_open_members(set);
	if (!err && !mg_set_is_opened(set))
		err = -ENODEV;
	return err;
}

/**
 * mg_set_open_member - open the events on one CPU
 * @set:	with @spec, @format, @follow and @limit
 * @cpu:	the CPU
 *
 * Context: Process context, may sleep. As mg_cpu_works_run().
 * Return: the member, or an ERR_PTR(); @failure is set if an event is the cause.
 */
struct mg_member *mg_set_open_member(struct mg_set *set, int cpu)
{
	struct mg_cpu_works works = { .func = mg_set_open_work };
	struct mg_member *member = mg_set_create_member(set, cpu);
	struct mg_cpu_work *work;
	int err = -ENOMEM;

	if (IS_ERR(member) || mg_set_member_share(member))
		return member;
	work = kzalloc(sizeof(*work), GFP_KERNEL_ACCOUNT);
	if (work) {
		*work = (struct mg_cpu_work){ .cpu = cpu, .item = member };
		err = mg_cpu_works_run(&works, work, 1, true) ?: member->view->error;
		kfree(work);
	}
	if (!err)
		return member;
	set->failure = member->view->failure;
	mg_members_destroy(&member, 1);
	return ERR_PTR(err);
}

/* The perf groups of @from are left out. Its mutex is held. */
static int mg_set_copy_members(struct mg_set *set, const struct mg_group *from)
{
	struct mg_attach *attach = &set->attach;
	u32 i;

	attach->members = kvcalloc(from->frames.nr_members, sizeof(*attach->members),
				   GFP_KERNEL_ACCOUNT);
	if (!attach->members)
		return -ENOMEM;
	for (i = 0; i < from->frames.nr_members; i++) {
		const struct mg_member *of = from->frames.members[i];
		struct mg_set one = { .limit = set->limit };
		struct mg_member *member;

		if (!of->view)
			continue;
		/* Its type may be that of another PMU now. */
		if (mg_kernel_presence(of->counter) == PERF_METAGROUP_REVOKED)
			return -ENODEV;
		one.spec = of->view->spec;
		one.format = of->counter->read_format;
		one.follow = of->view->follow;
		member = mg_set_create_member(&one, of->cpu);
		if (IS_ERR(member))
			return PTR_ERR(member);
		attach->members[attach->nr_members++] = member;
		set->follow |= one.follow;
	}
	return 0;
}

/**
 * mg_set_prepare_copy - open the same events as members of other sets, on the same CPUs
 * @set:	with @limit; @attach is zeroed, @follow is set if one of them follows
 * @from:	meta-group that has them; its perf groups are left out
 *
 * Context: Process context, may sleep. Takes mg_group.mutex. As mg_cpu_works_run().
 * Return: 0 or an error. The caller must call mg_attach_end() in either case.
 */
int mg_set_prepare_copy(struct mg_set *set, struct mg_group *from)
{
	int err = mg_group_lock(from);

	if (err)
		return err;
	err = mg_set_copy_members(set, from);
	mg_group_unlock(from);
	return err ?: mg_set_open_members(set);
}

/**
 * mg_set_commit - make the members visible, and start them together
 * @set:	whose @attach is reserved
 * @group:	the meta-group
 *
 * Context: Process context, may sleep. mg_group.mutex is held since
 * mg_attach_reserve(). Takes mg_claims_mutex, mg_cpu.lock and cpu_hotplug_lock.
 */
void mg_set_commit(struct mg_set *set, struct mg_group *group)
{
	struct mg_control start = {
		.op = MG_VIEW_START,
		.first = set->attach.first,
		.last = U32_MAX,
	};

	/* These counters have no other user. */
	mg_attach_commit(&set->attach, group);
	mg_control_sets(group, &start);
}
