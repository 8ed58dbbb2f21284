/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Quiet meta-groups: a CPU that sleeps is not woken to be read.
 */
#ifndef MG_QUIET_H
#define MG_QUIET_H

#include <linux/compiler.h>
#include <linux/types.h>
#include <asm/barrier.h>

#include "group.h"

#define MG_MAX_QUIET	64	/* meta-groups; bounds the work before a sleep */

int mg_quiet_join(struct mg_group *group);
void mg_quiet_leave(struct mg_group *group);
bool mg_quiet_read(struct mg_group *group, int cpu);

/*
 * What was read on the way to sleep is no longer to be used, because the CPU
 * woke or its members change. @lock is held.
 */
static inline void mg_quiet_wake(struct mg_cpu *on_cpu)
{
	if (on_cpu->naps & 1)
		WRITE_ONCE(on_cpu->naps, on_cpu->naps + 1);
	/* Pairs with the barrier before the second look in mg_quiet_read(). */
	smp_wmb();
}

#endif /* MG_QUIET_H */
