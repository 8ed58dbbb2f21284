/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The share of each CPU that all streams together may use.
 */
#ifndef MG_THROTTLE_H
#define MG_THROTTLE_H

#include <linux/types.h>

struct mg_now;

void mg_throttle_init(void);
u64 mg_throttle_until(u64 now);
void mg_throttle_charge(int cpu, const struct mg_now *begin);

#endif /* MG_THROTTLE_H */
