/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_COUNTER_H
#define MG_COUNTER_H

#include <linux/types.h>

#include "core/perf_access.h"

struct mg_counter *mg_counter_open(int fd, u32 *reason);
void mg_counter_put(struct mg_counter *counter);
int mg_counter_describe(const struct mg_counter *counter, struct mg_event_info *info,
			u64 *ids, u32 max_ids);
int mg_counter_describe_wait(const struct mg_counter *counter, struct mg_event_info *info,
			     u64 *ids, u32 max_ids);
int mg_counter_control(const struct mg_counter *counter, unsigned int perf_cmd);

#endif /* MG_COUNTER_H */
