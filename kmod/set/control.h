/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_CONTROL_H
#define MG_CONTROL_H

#include <linux/kconfig.h>
#include <linux/types.h>

#include "core/group.h"
#include "set/view.h"

struct cpumask;

/**
 * struct mg_control - set members that are controlled together
 * @op:		operation
 * @first:	number of the first member
 * @last:	number of the last member
 * @cpus:	only members on these CPUs; NULL for all
 * @members:	result: number of members
 * @interrupted: result: number of CPUs that were interrupted
 * @begin:	result: CLOCK_MONOTONIC before the first CPU was interrupted
 * @end:	result: CLOCK_MONOTONIC after the last CPU was done
 * @skew:	result: newest minus oldest time of a CPU
 */
struct mg_control {
	enum mg_view_op op;
	u32 first;
	u32 last;
	const struct cpumask *cpus;
	u32 members;
	u32 interrupted;
	u64 begin;
	u64 end;
	u64 skew;
};

void mg_control_sets(struct mg_group *group, struct mg_control *control);

#if IS_ENABLED(CONFIG_PERF_METAGROUP_SET)
int mg_control_all(struct mg_group *group, unsigned int perf_cmd, u32 *interrupted);
#else
static inline int mg_control_all(struct mg_group *group, unsigned int perf_cmd,
				 u32 *interrupted)
{
	*interrupted = group->frames.nr_members;
	return mg_group_control(group, perf_cmd);
}
#endif

#endif /* MG_CONTROL_H */
