/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_GROUP_H
#define MG_GROUP_H

#include <linux/cache.h>
#include <linux/cpumask.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include "core/cpu.h"
#include "core/frames.h"

struct mg_quiet;
struct mg_quiet_ops;

/**
 * struct mg_stats - statistics of sweeps; durations in ns
 * @sweeps:	number of sweeps
 * @last:	duration of the last sweep
 * @max:	duration of the longest sweep
 * @total:	sum of durations
 */
struct mg_stats {
	u64 sweeps;
	u64 last;
	u64 max;
	u64 total;
};

/**
 * struct mg_group - a meta-group
 * @cpus:		members by CPU, and data that handlers use
 * @mutex:		protects all fields
 * @refs:		references
 * @frames:		members in attach order, and their frames
 * @quiet:		quiet mode; NULL until it is first set
 * @quiet_ops:		operations of @quiet
 * @next_id:		number of the next member
 * @mode:		PERF_METAGROUP_MODE_*
 * @skipped:		CPUs that are not interrupted (SKIP_ISOLATED)
 * @req_mask:		CPUs that the caller of this sweep has requested
 * @selected_mask:	@req_mask without CPUs that have no members
 * @ipi_mask:		memory of @targets
 * @tmp_mask:		scratch
 * @swept_mask:		CPUs that the last sweep selected, unless @swept_all
 * @selected:		CPUs to bring up to date: cpus.mask or @selected_mask
 * @targets:		CPUs to interrupt: @selected or @ipi_mask
 * @swept_all:		the last sweep selected all CPUs
 * @migrated:		the last sweep has followed a member to another CPU
 * @raw:		payloads gathered for a RAW read
 * @raw_size:		bytes at @raw
 * @stats:		statistics of sweeps
 *
 * During a sweep handlers write frames, plans and parts of @cpus. The sweeping
 * task holds @mutex until all of them are done.
 */
struct mg_group {
	struct mg_cpus cpus;

	struct mutex mutex ____cacheline_aligned;
	struct kref refs;
	struct mg_frames frames;
	struct mg_quiet *quiet;
	const struct mg_quiet_ops *quiet_ops;
	u32 next_id;
	u32 mode;
	cpumask_var_t skipped;
	cpumask_var_t req_mask;
	cpumask_var_t selected_mask;
	cpumask_var_t ipi_mask;
	cpumask_var_t tmp_mask;
	cpumask_var_t swept_mask;
	const struct cpumask *selected;
	const struct cpumask *targets;
	bool swept_all;
	bool migrated;
	void *raw;
	u64 raw_size;
	struct mg_stats stats;
};

/**
 * struct mg_group_info - the reply to INFO
 * @members:		number of members
 * @cpus:		number of CPUs that have members
 * @mode:		PERF_METAGROUP_MODE_*
 * @raw_size:		bytes of a RAW read
 * @framed_size:	bytes of a FRAMED read
 * @map_size:		bytes that can be mapped
 */
struct mg_group_info {
	u32 members;
	u32 cpus;
	u32 mode;
	u64 raw_size;
	u64 framed_size;
	u64 map_size;
};

struct mg_group *mg_group_create(void);
void mg_group_put(struct mg_group *group);
int mg_group_control(struct mg_group *group, unsigned int perf_cmd);
void mg_group_set_mode(struct mg_group *group, u32 mode);
int mg_group_info(struct mg_group *group, struct mg_group_info *info);
int mg_group_member(struct mg_group *group, u32 id, struct mg_event_info *info,
		    u64 *ids, u32 max_ids);

/**
 * mg_group_lock - lock a meta-group
 * @group:	the meta-group
 *
 * Context: Process context, may sleep.
 * Return: 0, or -ERESTARTSYS on a signal.
 */
static inline int mg_group_lock(struct mg_group *group)
{
	return mutex_lock_interruptible(&group->mutex) ? -ERESTARTSYS : 0;
}

/**
 * mg_group_unlock - unlock a meta-group
 * @group:	the meta-group
 */
static inline void mg_group_unlock(struct mg_group *group)
{
	mutex_unlock(&group->mutex);
}

#endif /* MG_GROUP_H */
