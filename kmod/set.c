// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets: members with kernel events, opened on many CPUs by one call.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "control.h"
#include "group.h"
#include "limit.h"
#include "set.h"

/**
 * mg_set_prepare - open the events on all CPUs
 * @set:	with @spec, @format, @follow and @limit; @attach is zeroed
 * @cpus:	the CPUs
 *
 * Context: Process context, may sleep. Takes ctx->mutex and cpu_hotplug_lock.
 * Return: 0 or an error. mg_attach_end() is to be called in either case.
 */
int mg_set_prepare(struct mg_set *set, const struct cpumask *cpus)
{
	struct mg_attach *attach = &set->attach;
	struct mg_member *member;
	bool opened = false;
	int cpu;

	attach->members = kvcalloc(cpumask_weight(cpus), sizeof(*attach->members),
				   GFP_KERNEL_ACCOUNT);
	if (!attach->members)
		return -ENOMEM;

	for_each_cpu(cpu, cpus) {
		if (signal_pending(current))
			return -EINTR;
		if (!mg_limit_add_events(set->limit, set->spec->nr_events))
			return -E2BIG;
		member = mg_member_create_kernel(set->spec, set->format, cpu, set->follow,
						 &set->failure);
		if (IS_ERR(member)) {
			mg_limit_remove_events(set->limit, set->spec->nr_events);
			return PTR_ERR(member);
		}
		member->view->limit = set->limit;
		attach->members[attach->nr_members++] = member;
		/* Perf has not seen the attrs before. */
		opened |= mg_kernel_is_opened(member->counter);
	}
	return opened ? 0 : -ENODEV;
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
