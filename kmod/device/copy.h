/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_COPY_H
#define MG_COPY_H

#include <linux/types.h>

#define MG_MAX_CPU_WORDS	1024	/* 64 CPUs each */

struct cpumask;
struct mg_group;

int mg_copy_in(void *arg, size_t size, size_t min, void __user *uarg);
int mg_copy_out(void __user *uarg, const void *arg, size_t size);
int mg_copy_in_cpus(struct cpumask *cpus, const u64 __user *uwords, u32 count);
ssize_t mg_copy_snapshot(struct mg_group *group, u32 format, const struct cpumask *req_mask,
			 char __user *buf, size_t count);

#endif /* MG_COPY_H */
