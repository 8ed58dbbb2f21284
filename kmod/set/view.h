/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The view of a member on its kernel events: the difference from a baseline or, while
 * the view is stopped, fixed values. The events keep counting.
 */
#ifndef MG_VIEW_H
#define MG_VIEW_H

#include <linux/types.h>

#include "set/perf_kernel.h"
#include "set/spec.h"

struct mg_limit;
struct mg_member;

/**
 * enum mg_view_op - operation on a view
 * @MG_VIEW_START:	counts and times continue from what it shows
 * @MG_VIEW_STOP:	it keeps showing the current counts and times
 * @MG_VIEW_RESET:	counts become 0; times are not changed
 */
enum mg_view_op {
	MG_VIEW_START = PERF_METAGROUP_START,
	MG_VIEW_STOP = PERF_METAGROUP_STOP,
	MG_VIEW_RESET = PERF_METAGROUP_RESET,
};

/**
 * struct mg_view - what a member shows of its kernel events
 * @stopped:	@enabled, @running and @counts are shown; else they are subtracted
 * @enabled:	total_time_enabled
 * @running:	total_time_running
 * @counts:	counts, one for each event
 * @ids:	identifiers, one for each event; constant
 * @last:	times and counts of the events when they were last read or controlled on
 *		their CPU; used if a PMU may move them to another CPU; ctx->lock
 * @spec:	what the events count; a reference, constant
 * @follow:	they are reopened when their CPU comes online; constant
 * @limit:	limit of the user who opened the set; counted as a use; or NULL; constant
 * @error:	result of the last attempt to open them; mg_group.mutex
 * @failure:	cause of @error; mg_group.mutex
 * @payload:	scratch
 *
 * Fields without a lock are read and written on the CPU of the events with interrupts
 * off or, while that CPU is offline, with mg_group.mutex held.
 */
struct mg_view {
	bool stopped;
	u64 enabled;
	u64 running;
	u64 *counts;
	u64 *ids;
	u64 *last;
	struct mg_spec *spec;
	bool follow;
	struct mg_limit *limit;
	int error;
	struct mg_failure failure;
	u64 payload[];
};

struct mg_view *mg_view_create(const struct mg_counter *counter, struct mg_spec *spec,
			       bool follow);
void mg_view_destroy(struct mg_view *view);
int mg_view_update(const struct mg_member *member, struct perf_event_context *ctx, int cpu,
		   u32 *status);
void mg_view_apply(const struct mg_member *member, u32 status, u64 *payload);
void mg_view_describe(const struct mg_view *view, struct mg_event_info *info, u64 *ids,
		      u32 max_ids);
void mg_view_control(struct mg_view *view, const struct mg_plan *plan, enum mg_view_op op,
		     int cpu, u64 clock);

#endif /* MG_VIEW_H */
