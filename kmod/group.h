/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The meta-group: members, the CPUs they are on, their descriptors.
 */
#ifndef MG_GROUP_H
#define MG_GROUP_H

#include <linux/cache.h>
#include <linux/cpumask.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include "member.h"
#include "snapshot.h"

struct mg_event_info;

#define MG_MAX_MEMBERS	8192
#define MG_MAX_PER_CPU	1024	/* bounds the time with interrupts off */

/* Duration of sweeps in ns. */
struct mg_stats {
	u64 sweeps;
	u64 last;
	u64 max;
	u64 total;
};

/*
 * Everything is under @mutex, except what handlers write during a sweep; the
 * sweeping task holds @mutex and waits for them, so the two never meet.
 */
struct mg_group {
	/* Handlers read these; nobody writes here during a sweep. */
	struct mg_member **on_cpu;	/* [nr_cpu_ids]: the CPU's first member */
	struct mg_snapshot snapshot;

	/* Handlers write these, but seldom: see sweep.c. */
	cpumask_var_t running ____cacheline_aligned;
	bool unsettled;			/* a member could not be read */

	struct mutex mutex ____cacheline_aligned;
	struct kref refs;
	struct mg_member **members;	/* attach order, so by rising id */
	u32 nr_members;
	u32 room;			/* of @members */
	u32 next_id;
	cpumask_var_t cpus;		/* that have members */
	cpumask_var_t targets;		/* that the sweep interrupts */
	struct mg_stats stats;
};

/* What INFO shows. */
struct mg_group_info {
	u32 members;
	u32 cpus;
	u64 raw_size;
	u64 framed_size;
};

struct mg_group *mg_group_create(void);
void mg_group_put(struct mg_group *group);

static inline int mg_group_lock(struct mg_group *group)
{
	return mutex_lock_interruptible(&group->mutex) ? -ERESTARTSYS : 0;
}

static inline void mg_group_unlock(struct mg_group *group)
{
	mutex_unlock(&group->mutex);
}

int mg_group_attach(struct mg_group *group, const s32 *fds, u32 count,
		    u32 *first, u32 *failed, u32 *reason);
int mg_group_detach(struct mg_group *group, u32 id);
int mg_group_control(struct mg_group *group, unsigned int perf_cmd);
int mg_group_info(struct mg_group *group, struct mg_group_info *info);
int mg_group_member(struct mg_group *group, u32 id, struct mg_event_info *info,
		    u64 *ids, u32 max_ids);

/* With @mutex held: */
int mg_group_grow(struct mg_group *group, u32 payload);
void mg_group_rehome(struct mg_group *group, struct mg_member *member);
int mg_member_describe(struct mg_member *member, struct mg_event_info *info,
		       u64 *ids, u32 max_ids);

#endif /* MG_GROUP_H */
