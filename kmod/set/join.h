/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_JOIN_H
#define MG_JOIN_H

#include <linux/kconfig.h>
#include <linux/list.h>
#include <linux/types.h>

struct mg_group;
struct mg_name;

/**
 * struct mg_join - one meta-group that has joined a name
 * @name:	the name; a reference, constant
 * @group:	the meta-group, which outlives it; constant
 * @sweeps:	sweeps of the meta-group before it joined; constant
 * @of_name:	entry in mg_name.joins; mg_name.lock
 * @of_handle:	entry in mg_handle.joins; mutex of the meta-group
 */
struct mg_join {
	struct mg_name *name;
	const struct mg_group *group;
	u64 sweeps;
	struct list_head of_name;
	struct list_head of_handle;
};

/**
 * struct mg_name_stats - statistics of a name
 * @users:	meta-groups that have joined it
 * @sweeps:	their sweeps since they joined
 */
struct mg_name_stats {
	u32 users;
	u64 sweeps;
};

struct mg_join *mg_join_create(struct mg_name *name, const struct mg_group *group);
void mg_join_add(struct mg_join *join, struct list_head *joins);
void mg_join_destroy(struct mg_join *join);
void mg_name_stats(struct mg_name *name, struct mg_name_stats *stats);

#if IS_ENABLED(CONFIG_PERF_METAGROUP_SET)
void mg_joins_end(struct list_head *joins);
#else
static inline void mg_joins_end(struct list_head *joins)
{
}
#endif

#endif /* MG_JOIN_H */
