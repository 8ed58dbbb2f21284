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

#include "control.h"
#include "cpu_work.h"
#include "group.h"
#include "limit.h"
#include "set.h"

/* Allocate the members; their events are opened later. */
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
		if (!mg_limit_add_events(set->limit, set->spec->nr_events))
			return -E2BIG;
		member = mg_member_create_kernel(set->spec, set->format, cpu, set->follow);
		if (IS_ERR(member)) {
			mg_limit_remove_events(set->limit, set->spec->nr_events);
			return PTR_ERR(member);
		}
		member->view->limit = set->limit;
		attach->members[attach->nr_members++] = member;
	}
	return 0;
}

static void mg_set_open_member(struct mg_set *set, struct mg_member *member)
{
	member->view->error = mg_member_open(member, set->spec);
}

static void mg_set_open_work(struct mg_cpu_work *work)
{
	mg_set_open_member(work->works->data, work->item);
}

static int mg_set_open_works(struct mg_set *set, struct mg_cpu_work *work, u32 count,
			     u32 first)
{
	struct mg_cpu_works works = { .func = mg_set_open_work, .data = set };
	struct mg_member *member = work[first].item;

	mg_set_open_member(set, member);
	if (member->view->error)
		return 0;
	swap(work[0], work[first]);
	return mg_cpu_works_run(&works, work + 1, count - 1, true);
}

/* The first error in the order of the CPUs. */
static int mg_set_check_members(struct mg_set *set)
{
	bool opened = false;
	u32 i;

	for (i = 0; i < set->attach.nr_members; i++) {
		const struct mg_member *member = set->attach.members[i];

		if (member->view->error) {
			set->failure = member->view->failure;
			return member->view->error;
		}
		/* Perf has not seen the attrs before. */
		opened |= mg_kernel_is_opened(member->counter);
	}
	return opened ? 0 : -ENODEV;
}

/**
 * mg_set_prepare - open the events on all CPUs
 * @set:	with @spec, @format, @follow and @limit; @attach is zeroed
 * @cpus:	the CPUs
 *
 * CPUs whose events are open are left alone: the new members share them. Each other CPU
 * opens its own events. The caller opens those of one CPU first, so that others are not
 * disturbed by events that cannot be opened at all.
 *
 * Context: Process context, may sleep. As mg_cpu_works_run().
 * Return: 0 or an error. mg_attach_end() is to be called in either case.
 */
int mg_set_prepare(struct mg_set *set, const struct cpumask *cpus)
{
	struct mg_attach *attach = &set->attach;
	int here = raw_smp_processor_id();
	struct mg_cpu_work *work;
	u32 i, first = 0, count = 0;
	int err;

	err = mg_set_create_members(set, cpus);
	if (err)
		return err;
	work = kvcalloc(attach->nr_members, sizeof(*work), GFP_KERNEL_ACCOUNT);
	if (!work)
		return -ENOMEM;
	for (i = 0; i < attach->nr_members; i++) {
		struct mg_member *member = attach->members[i];

		if (mg_member_share(member, set->spec))
			continue;
		if (member->counter->cpu == here)
			first = count;
		work[count++] = (struct mg_cpu_work){
			.cpu = member->counter->cpu,
			.item = member,
		};
	}
	if (count)
		err = mg_set_open_works(set, work, count, first);
	kvfree(work);
	return err ?: mg_set_check_members(set);
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

	/* Nobody else has these counters. */
	mg_attach_commit(&set->attach, group);
	mg_control_sets(group, &start);
}
