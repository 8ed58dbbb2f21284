/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_SET_H
#define MG_SET_H

#include <linux/types.h>

#include "attach.h"
#include "perf_kernel.h"

struct cpumask;
struct perf_event_attr;

/**
 * struct mg_set - events to be opened on many CPUs, all or none
 * @attach:	the members, one for each CPU
 * @attrs:	what the events count
 * @nr_events:	entries of @attrs
 * @format:	read_format of the payloads
 * @failure:	why it could not be opened
 */
struct mg_set {
	struct mg_attach attach;
	struct perf_event_attr *attrs;
	u32 nr_events;
	u64 format;
	struct mg_failure failure;
};

int mg_set_prepare(struct mg_set *set, const struct cpumask *cpus);
void mg_set_commit(struct mg_set *set, struct mg_group *group);

#endif /* MG_SET_H */
