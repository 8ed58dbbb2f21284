/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_FOLLOW_H
#define MG_FOLLOW_H

#include <linux/atomic.h>
#include <linux/kconfig.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "set/perf_kernel.h"

struct mg_group;
struct mg_spec;

/**
 * struct mg_reopen - a member whose events are reopened
 * @id:		its number
 * @cpu:	its CPU
 * @shown_id:	identifier of its leader
 * @format:	read_format of its payload
 * @spec:	its events; a reference; NULL if there is no member
 * @counter:	the new counter, later the old one; or NULL
 * @plan:	its plan, or NULL
 * @err:	why its events could not be opened, or 0
 * @failure:	the event that caused @err
 */
struct mg_reopen {
	u32 id;
	int cpu;
	u64 shown_id;
	u64 format;
	struct mg_spec *spec;
	struct mg_counter *counter;
	struct mg_plan *plan;
	int err;
	struct mg_failure failure;
};

/**
 * struct mg_follow - reopens events of sets when their CPU comes online
 * @group:	the meta-group, which outlives it; constant
 * @hotplug:	entry in the list of the hotplug state
 * @work:	opens the events
 * @reopen:	the current member; used by @work only
 * @tries:	how many times another task held the mutex, up to 4; used by @work only
 * @begun:	the current @round; used by @work only
 * @next:	number of the first member not yet tried in @begun; used by @work only
 * @round:	number of CPUs that have come online so far, so that each member is
 *		tried once for each; atomic
 */
struct mg_follow {
	struct mg_group *group;
	struct hlist_node hotplug;
	struct delayed_work work;
	struct mg_reopen reopen;
	unsigned int tries;
	int begun;
	u32 next;
	atomic_t round;
};

struct mg_follow *mg_follow_create(struct mg_group *group);
void mg_follow_update(struct mg_follow *follow);

int mg_follow_init(void);
void mg_follow_exit(void);

#if IS_ENABLED(CONFIG_PERF_METAGROUP_SET)
void mg_follow_destroy(struct mg_follow *follow);
#else
static inline void mg_follow_destroy(struct mg_follow *follow)
{
}
#endif

#endif /* MG_FOLLOW_H */
