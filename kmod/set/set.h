/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_SET_H
#define MG_SET_H

#include <linux/types.h>

#include "core/attach.h"
#include "set/view.h"

struct cpumask;
struct mg_group;
struct mg_limit;

/**
 * struct mg_set - events that are opened on many CPUs, all or none
 * @attach:	the members, one for each CPU
 * @spec:	what the events count; a reference
 * @format:	read_format of the payloads
 * @follow:	CPUs may be offline
 * @limit:	limit of the user, or NULL
 * @failure:	why it could not be opened
 */
struct mg_set {
	struct mg_attach attach;
	struct mg_spec *spec;
	u64 format;
	bool follow;
	struct mg_limit *limit;
	struct mg_failure failure;
};

struct mg_member *mg_set_open_member(struct mg_set *set, int cpu);
int mg_set_prepare_copy(struct mg_set *set, struct mg_group *from);
int mg_set_prepare(struct mg_set *set, const struct cpumask *cpus);
void mg_set_commit(struct mg_set *set, struct mg_group *group);

#endif /* MG_SET_H */
