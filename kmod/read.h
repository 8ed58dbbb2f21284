/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_READ_H
#define MG_READ_H

#include <linux/types.h>

struct mg_cpu;
struct mg_group;

void mg_read_here(void *info);
void mg_read_from_here(struct mg_group *group, int cpu);
int mg_read_ahead(struct mg_cpu *on_cpu);
bool mg_read_asleep(struct mg_group *group, int cpu);

#endif /* MG_READ_H */
