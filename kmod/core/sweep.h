/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_SWEEP_H
#define MG_SWEEP_H

struct cpumask;
struct mg_group;
struct mg_limit;

void mg_sweep(struct mg_group *group, const struct cpumask *req_mask, struct mg_limit *limit);
int mg_sweep_error(const struct mg_group *group);

#endif /* MG_SWEEP_H */
