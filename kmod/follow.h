/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_FOLLOW_H
#define MG_FOLLOW_H

#include <linux/atomic.h>
#include <linux/types.h>
#include <linux/workqueue.h>

struct mg_group;

/**
 * struct mg_follow - opens events of sets anew when their CPU comes online
 * @group:	the meta-group, which outlives it; constant
 * @hotplug:	entry in the list of the hotplug state
 * @work:	opens the events
 * @round:	number of CPUs that have come online so far, so that each member is
 *		tried once for each; atomic
 */
struct mg_follow {
	struct mg_group *group;
	struct hlist_node hotplug;
	struct work_struct work;
	atomic_t round;
};

struct mg_follow *mg_follow_create(struct mg_group *group);
void mg_follow_destroy(struct mg_follow *follow);
void mg_follow_update(struct mg_follow *follow);

int mg_follow_init(void);
void mg_follow_exit(void);

#endif /* MG_FOLLOW_H */
