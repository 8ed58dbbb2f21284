/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_KERNEL_COUNTER_H
#define MG_KERNEL_COUNTER_H

#include <linux/types.h>

struct mg_counter;
struct mg_cpu_work;
struct mg_failure;
struct mg_set_ops;
struct mg_spec;
struct perf_event_attr;

struct mg_counter *mg_kernel_counter_create(u32 nr_events, u64 format, int cpu,
					    const struct mg_set_ops *ops);
bool mg_kernel_counter_share(struct mg_counter *counter, const struct perf_event_attr *attrs);
int mg_kernel_counter_open(struct mg_counter *counter, struct mg_spec *spec,
			   struct mg_failure *failure);
void mg_kernel_counter_leave_closed(struct mg_counter *counter);
void mg_kernel_counter_free(struct mg_counter *counter);
void mg_kernel_counters_free(struct mg_cpu_work *work, u32 count);
u32 mg_kernel_counter_users(const struct mg_counter *counter);

#endif /* MG_KERNEL_COUNTER_H */
