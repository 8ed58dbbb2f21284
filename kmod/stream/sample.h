/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_SAMPLE_H
#define MG_SAMPLE_H

#include <linux/types.h>

struct mg_cpu;
struct mg_now;
struct mg_ring;

bool mg_cpu_sample(const struct mg_cpu *on_cpu, int cpu, const struct mg_now *now,
		   struct mg_ring *ring);
void mg_cpu_sample_lost(const struct mg_cpu *on_cpu, int cpu, const struct mg_now *now,
			struct mg_ring *ring, u64 lost);

#endif /* MG_SAMPLE_H */
