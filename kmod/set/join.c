// SPDX-License-Identifier: GPL-2.0-only
/*
 * The meta-groups that have joined a name are recorded for its statistics.
 */
#include <linux/compiler.h>
#include <linux/slab.h>

#include "core/group.h"
#include "set/join.h"
#include "set/name.h"

/* The number of sweeps of a meta-group, which another task may be incrementing. */
static u64 mg_join_sweeps(const struct mg_join *join)
{
	return READ_ONCE(join->group->stats.sweeps) - join->sweeps;
}

/**
 * mg_join_create - prepare to join a name
 * @name:	the name
 * @group:	the meta-group that joins it
 *
 * Context: Process context, may sleep.
 * Return: the new object, or NULL.
 */
struct mg_join *mg_join_create(struct mg_name *name, const struct mg_group *group)
{
	struct mg_join *join = kzalloc(sizeof(*join), GFP_KERNEL_ACCOUNT);

	if (!join)
		return NULL;
	kref_get(&name->refs);
	join->name = name;
	join->group = group;
	INIT_LIST_HEAD(&join->of_name);
	INIT_LIST_HEAD(&join->of_handle);
	return join;
}

/**
 * mg_join_add - join a name, unless the handle has already joined it
 * @join:	created; it is consumed
 * @joins:	mg_handle.joins
 *
 * Context: Process context, may sleep. mg_group.mutex of the handle is held. Takes
 * mg_name.lock.
 */
void mg_join_add(struct mg_join *join, struct list_head *joins)
{
	const struct mg_join *other;

	list_for_each_entry(other, joins, of_handle) {
		if (other->name == join->name) {
			mg_join_destroy(join);
			return;
		}
	}
	list_add_tail(&join->of_handle, joins);
	mutex_lock(&join->name->lock);
	join->sweeps = join->group->stats.sweeps;
	list_add_tail(&join->of_name, &join->name->joins);
	mutex_unlock(&join->name->lock);
}

/**
 * mg_join_destroy - free a join that was not added
 * @join:	created
 */
void mg_join_destroy(struct mg_join *join)
{
	mg_name_put(join->name);
	kfree(join);
}

/**
 * mg_joins_end - leave all names
 * @joins:	mg_handle.joins; the handle has no other user
 *
 * Context: Process context, may sleep. Takes mg_name.lock.
 */
void mg_joins_end(struct list_head *joins)
{
	struct mg_join *join, *next;

	list_for_each_entry_safe(join, next, joins, of_handle) {
		mutex_lock(&join->name->lock);
		list_del(&join->of_name);
		join->name->sweeps += mg_join_sweeps(join);
		mutex_unlock(&join->name->lock);
		mg_join_destroy(join);
	}
}

/**
 * mg_name_stats - get the statistics of a name
 * @name:	the name
 * @stats:	result
 *
 * Context: Process context, may sleep. Takes mg_name.lock.
 */
void mg_name_stats(struct mg_name *name, struct mg_name_stats *stats)
{
	const struct mg_join *join;

	mutex_lock(&name->lock);
	stats->users = 0;
	stats->sweeps = name->sweeps;
	list_for_each_entry(join, &name->joins, of_name) {
		stats->users++;
		stats->sweeps += mg_join_sweeps(join);
	}
	mutex_unlock(&name->lock);
}
