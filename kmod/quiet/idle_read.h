/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_IDLE_READ_H
#define MG_IDLE_READ_H

#include <linux/types.h>

struct mg_budget;
struct mg_cpu;
struct mg_cpus;

bool mg_cpu_idle_refresh(struct mg_cpu *on_cpu, struct mg_budget *budget);
bool mg_cpu_read_idle(struct mg_cpus *cpus, int cpu);

#endif /* MG_IDLE_READ_H */
