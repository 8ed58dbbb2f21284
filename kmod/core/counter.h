/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_COUNTER_H
#define MG_COUNTER_H

#include <linux/types.h>

#include "core/perf_access.h"

struct mg_cpu_work;
struct mg_failure;
struct mg_spec;

struct mg_counter *mg_counter_open(int fd, u32 *reason);
struct mg_counter *mg_counter_create_kernel(u32 nr_events, u64 format, int cpu);
bool mg_counter_share_kernel(struct mg_counter *counter, const struct perf_event_attr *attrs);
int mg_counter_open_kernel(struct mg_counter *counter, struct mg_spec *spec,
			   struct mg_failure *failure);
void mg_counter_leave_closed(struct mg_counter *counter);
void mg_counter_put(struct mg_counter *counter);
void mg_counters_put(struct mg_cpu_work *work, u32 count);
u32 mg_counter_users(const struct mg_counter *counter);
int mg_counter_describe(const struct mg_counter *counter, struct mg_event_info *info,
			u64 *ids, u32 max_ids);
int mg_counter_describe_wait(const struct mg_counter *counter, struct mg_event_info *info,
			     u64 *ids, u32 max_ids);
int mg_counter_control(const struct mg_counter *counter, unsigned int perf_cmd);

#endif /* MG_COUNTER_H */
