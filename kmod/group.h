/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The meta-group: members, the CPUs they are on, their descriptors.
 */
#ifndef MG_GROUP_H
#define MG_GROUP_H

#include <linux/cache.h>
#include <linux/cpumask.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "event.h"
#include "member.h"
#include "snapshot.h"

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
 * What a meta-group has on one CPU. A CPU that falls asleep looks at it without
 * mg_group.mutex: see quiet.c.
 */
struct mg_cpu {
	struct mg_member *first;	/* mg_group.mutex and @lock, to read either */
	raw_spinlock_t lock;
	u32 naps;			/* @lock; odd: asleep, counts are as of @asleep */
	struct mg_now asleep;		/* @lock */
	u64 swept;			/* sweep: when read last, if not asleep */
	u32 done;			/* sweep: how often mg_read_here() was here */
} ____cacheline_aligned;

/*
 * Everything without a note is under @mutex, except what handlers write during
 * a sweep; the sweeping task holds @mutex and waits for them, so the two never
 * meet.
 */
struct mg_group {
	/* Handlers read these; nobody writes here during a sweep. */
	struct mg_cpu *on_cpu;		/* [nr_cpu_ids] */
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
	u32 mode;			/* PERF_METAGROUP_MODE_* */
	cpumask_var_t cpus;		/* that have members */
	cpumask_var_t spared;		/* never to be interrupted */
	cpumask_var_t asked;		/* for by the user of this sweep */
	cpumask_var_t chosen;		/* those of @cpus, if not all */
	const struct cpumask *selected;	/* to be brought up to date by it */
	cpumask_var_t targets;		/* that it interrupts */
	u32 *awaited;			/* [nr_cpu_ids]: mg_cpu.done when it is over */
	struct mg_stats stats;
	struct list_head quiet;		/* mg_quiet_mutex */
};

/* What INFO shows. */
struct mg_group_info {
	u32 members;
	u32 cpus;
	u32 mode;
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
void mg_group_detach_new(struct mg_group *group, u32 first, u32 count);
int mg_group_control(struct mg_group *group, unsigned int perf_cmd);
int mg_group_set_mode(struct mg_group *group, u32 mode);
int mg_group_info(struct mg_group *group, struct mg_group_info *info);
int mg_group_member(struct mg_group *group, u32 id, struct mg_event_info *info,
		    u64 *ids, u32 max_ids);

/* With @mutex held: */
int mg_group_find(const struct mg_group *group, u32 id);
u32 mg_group_link(struct mg_group *group, struct mg_member *member, int cpu);
void mg_group_unlink(struct mg_group *group, struct mg_member *member);
void mg_group_lay_out(struct mg_group *group);
int mg_group_grow(struct mg_group *group, u32 payload);
void mg_group_rehome(struct mg_group *group, struct mg_member *member);
int mg_member_describe(struct mg_member *member, struct mg_event_info *info,
		       u64 *ids, u32 max_ids);

#endif /* MG_GROUP_H */
