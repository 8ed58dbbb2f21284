/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_SHARED_H
#define MG_SHARED_H

#include <linux/types.h>

struct perf_event;
struct perf_event_attr;
struct mg_failure;

bool mg_shared_join(struct perf_event **events, const struct perf_event_attr *attrs,
		    u32 nr_events, int cpu);
bool mg_shared_leave(struct perf_event **events, u32 nr_events, int cpu);
int mg_shared_open(struct perf_event **events, struct perf_event_attr *attrs, u32 nr_events,
		   int cpu, struct mg_failure *failure);
void mg_shared_close(struct perf_event **events, u32 nr_events, int cpu);
u32 mg_shared_users(struct perf_event **events, u32 nr_events, int cpu);
void mg_shared_init(void);

#endif /* MG_SHARED_H */
