/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_QUIET_H
#define MG_QUIET_H

#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/types.h>

#include "core/cpu.h"
#include "quiet/idle.h"

/**
 * struct mg_quiet - a meta-group's part in quiet mode
 * @idle:	what idle CPUs call
 * @cpus:	CPUs of the meta-group; constant
 * @last_sweep:	time of the last sweep in jiffies; mg_group.mutex, READ_ONCE() by
 *		CPUs that enter idle
 * @held:	CPUs do not refresh counts; as @last_sweep
 */
struct mg_quiet {
	struct mg_idle idle;
	struct mg_cpus *cpus;
	unsigned long last_sweep;
	bool held;
};

void mg_quiet_init(struct mg_quiet *quiet, struct mg_cpus *cpus);
int mg_quiet_join(struct mg_quiet *quiet);
void mg_quiet_leave(struct mg_quiet *quiet);
void mg_quiet_hold(struct mg_quiet *quiet);
void mg_quiet_release(struct mg_quiet *quiet);

/**
 * mg_quiet_note_sweep - note that a sweep uses the counts of idle CPUs
 * @quiet:	of the meta-group
 *
 * Each CPU that enters idle reads @last_sweep, so it is written only if it
 * changes.
 *
 * Context: mg_group.mutex is held.
 */
static inline void mg_quiet_note_sweep(struct mg_quiet *quiet)
{
	unsigned long now = jiffies;

	if (quiet->last_sweep != now)
		WRITE_ONCE(quiet->last_sweep, now);
}

#endif /* MG_QUIET_H */
