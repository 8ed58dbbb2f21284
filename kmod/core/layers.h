/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The core calls each layer above it through one of these tables. It does not include
 * their headers, and does not depend on whether they are built. None of these calls is
 * on the fast path of a sweep, mg_read_local(). Streams need no table: they call the
 * core.
 */
#ifndef MG_LAYERS_H
#define MG_LAYERS_H

#include <linux/types.h>

struct mg_counter;
struct mg_event_info;
struct mg_group;
struct mg_member;
struct perf_event_context;

/**
 * struct mg_set_ops - counters of kernel events, and their members
 * @update:	bring the counts of a member up to date, like mg_update_any(); ctx->lock is held
 * @show:	convert a payload from the counts of the events to what the member shows;
 *		ctx->lock is held
 * @describe:	like mg_counter_describe()
 * @describe_member: add properties of the member to a description; mg_group.mutex is held
 * @destroy:	free members, whose counters have no owner, and their counters
 *
 * The counter of a perf group has no table.
 */
struct mg_set_ops {
	int (*update)(const struct mg_member *member, struct perf_event_context *ctx, int cpu,
		      u32 *status);
	void (*show)(const struct mg_member *member, u32 status, u64 *payload);
	void (*describe)(const struct mg_counter *counter, struct mg_event_info *info);
	void (*describe_member)(const struct mg_member *member, struct mg_event_info *info,
				u64 *ids, u32 max_ids);
	void (*destroy)(struct mg_member **members, u32 count);
};

/**
 * struct mg_quiet_ops - quiet mode of a meta-group
 * @read_idle:	read members of idle CPUs, and remove these CPUs from mg_group.ipi_mask
 * @hold:	prevent CPUs that enter idle from changing counts
 * @release:	undo @hold
 * @free:	the meta-group is freed
 *
 * mg_group.quiet is NULL for a meta-group that has never been quiet. mg_group.mutex is
 * held, except in @free, when there is no other user.
 */
struct mg_quiet_ops {
	void (*read_idle)(struct mg_group *group);
	void (*hold)(struct mg_group *group);
	void (*release)(struct mg_group *group);
	void (*free)(struct mg_group *group);
};

#endif /* MG_LAYERS_H */
