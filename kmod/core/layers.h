/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The core calls layers above it by these tables, one for each. It includes none of
 * their headers, and is the same whether they are built or not. None of the calls is on
 * the fast path of a sweep, mg_read_local(). Streams need no table: they call the core.
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
 * @update:	bring the counts of a member up to date, as mg_update_any(), under ctx->lock
 * @show:	turn a payload with what the events have counted into what the member shows;
 *		under ctx->lock
 * @describe:	as mg_counter_describe()
 * @describe_member: add what the member knows to that; mg_group.mutex is held
 * @destroy:	free members, whose counters have no owner, and their counters
 *
 * A counter that is a perf group has no table.
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
 * @hold:	stop CPUs that enter idle from changing counts
 * @release:	undo @hold
 * @free:	the meta-group is freed
 *
 * Of a meta-group that has never been quiet, mg_group.quiet is NULL. mg_group.mutex is
 * held, except for @free, when there is no other user.
 */
struct mg_quiet_ops {
	void (*read_idle)(struct mg_group *group);
	void (*hold)(struct mg_group *group);
	void (*release)(struct mg_group *group);
	void (*free)(struct mg_group *group);
};

#endif /* MG_LAYERS_H */
