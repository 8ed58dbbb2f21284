/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences of <linux/perf_event.h> between Linux 5.10 and 7.3, and functions that
 * are private to kernel/events/core.c. Functions that are named as in core.c do the
 * same; those whose names begin with mg_compat_ have no counterpart there.
 */
#ifndef MG_COMPAT_PERF_EVENT_H
#define MG_COMPAT_PERF_EVENT_H

#include <linux/cgroup.h>
#include <linux/cpumask.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/smp.h>
#include <linux/topology.h>
#include <linux/version.h>

/* Set in ctx->is_active while the time of the context is running. */
#define EVENT_TIME	0x4

/* Since 6.15 a PMU may be unregistered while it has events. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
#define PERF_EVENT_STATE_REVOKED	(PERF_EVENT_STATE_DEAD - 1)
#endif

/* Since 6.12 a PMU may have a scope of CPUs that can read its events. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
/* PERF_PMU_SCOPE_CLUSTER is left out: its mask is not exported. */
static inline const struct cpumask *perf_scope_cpu_topology_cpumask(unsigned int scope, int cpu)
{
	switch (scope) {
	case PERF_PMU_SCOPE_CORE:
		return topology_sibling_cpumask(cpu);
	case PERF_PMU_SCOPE_DIE:
		return topology_die_cpumask(cpu);
	case PERF_PMU_SCOPE_PKG:
		return topology_core_cpumask(cpu);
	case PERF_PMU_SCOPE_SYS_WIDE:
		return cpu_online_mask;
	default:
		return NULL;
	}
}

static inline bool mg_compat_in_scope(const struct perf_event *event, int event_cpu, int cpu)
{
	const struct cpumask *cpumask;

	if (!(event->group_caps & PERF_EV_CAP_READ_SCOPE))
		return false;
	cpumask = perf_scope_cpu_topology_cpumask(event->pmu->scope, event_cpu);
	return cpumask && cpumask_test_cpu(cpu, cpumask);
}
#else
#define PERF_EV_CAP_READ_SCOPE	0

static inline bool mg_compat_in_scope(const struct perf_event *event, int event_cpu, int cpu)
{
	return false;
}
#endif

/* The configs that are not in a union and not in all versions. */
static inline void mg_compat_copy_configs(struct perf_event_attr *to,
					  const struct perf_event_attr *from)
{
	to->config1 = from->config1;
	to->config2 = from->config2;
#ifdef PERF_ATTR_SIZE_VER8
	to->config3 = from->config3;
#endif
#ifdef PERF_ATTR_SIZE_VER9
	to->config4 = from->config4;
#endif
}

/* The CPU to read an active @event on: this one, or @event_cpu, which may be -1. */
static inline int __perf_event_read_cpu(const struct perf_event *event, int event_cpu)
{
	int local_cpu = smp_processor_id();

	if ((unsigned int)event_cpu >= nr_cpu_ids)
		return event_cpu;
	if (mg_compat_in_scope(event, event_cpu, local_cpu))
		return local_cpu;
	if (event->group_caps & PERF_EV_CAP_READ_ACTIVE_PKG &&
	    topology_physical_package_id(event_cpu) == topology_physical_package_id(local_cpu))
		return local_cpu;
	return event_cpu;
}

/* The PMU that reads a whole group: a software leader may be on another PMU's context. */
static inline struct pmu *mg_compat_group_pmu(struct perf_event *leader)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	return leader->pmu_ctx->pmu;
#else
	return leader->pmu;
#endif
}

static inline bool is_cgroup_event(const struct perf_event *event)
{
#ifdef CONFIG_CGROUP_PERF
	return event->cgrp;
#else
	return false;
#endif
}

#ifdef CONFIG_CGROUP_PERF
static inline bool perf_cgroup_match(const struct perf_event *event)
{
	const struct perf_cgroup *cgrp =
		container_of(event->ctx, struct perf_cpu_context, ctx)->cgrp;

	return cgrp && cgroup_is_descendant(cgrp->css.cgroup, event->cgrp->css.cgroup);
}

/*
 * ->active alone is not enough: when the last event of a cgroup on a CPU is
 * disabled while the cgroup runs, ->cgrp is cleared and ->active stays set.
 */
static inline bool mg_compat_cgroup_runs(const struct perf_event *event,
					 const struct perf_cgroup_info *info)
{
	return info->active && perf_cgroup_match(event);
}
#endif

/*
 * The time of a context, or of a cgroup on one CPU, at @now, which is a time of
 * perf_clock(). A stopped clock shows when it was stopped. Since 7.0 a second clock
 * of the same type counts the time in guests.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
/*
 * The time in a guest is subtracted when the guest is left. Until then the time
 * runs ahead, and then it goes back. is_guest_mediated_pmu_loaded(), which would
 * show that a guest is running, is private to core.c.
 */
static inline bool mg_compat_time_may_go_back(const struct perf_event *event)
{
	return event->attr.exclude_guest;
}

static inline u64 mg_compat_time_now(const struct perf_time_ctx *total,
				     const struct perf_time_ctx *guest,
				     const struct perf_event *event, u64 now, bool runs)
{
	u64 time = runs ? now + total->offset : total->time;

	return event->attr.exclude_guest ? time - guest->time : time;
}

static inline u64 mg_compat_ctx_running_now(const struct perf_event_context *ctx, u64 now)
{
	return now + ctx->time.offset;
}

static inline u64 mg_compat_ctx_time_now(const struct perf_event *event,
					 const struct perf_event_context *ctx, u64 now)
{
	return mg_compat_time_now(&ctx->time, &ctx->timeguest, event, now,
				  ctx->is_active & EVENT_TIME);
}

#ifdef CONFIG_CGROUP_PERF
static inline u64 perf_cgroup_event_time_now(const struct perf_event *event, u64 now)
{
	const struct perf_cgroup_info *info = per_cpu_ptr(event->cgrp->info, event->cpu);

	return mg_compat_time_now(&info->time, &info->timeguest, event, now,
				  mg_compat_cgroup_runs(event, info));
}
#endif
#else
static inline bool mg_compat_time_may_go_back(const struct perf_event *event)
{
	return false;
}

static inline u64 mg_compat_ctx_running_now(const struct perf_event_context *ctx, u64 now)
{
	return now + ctx->timeoffset;
}

static inline u64 mg_compat_ctx_time_now(const struct perf_event *event,
					 const struct perf_event_context *ctx, u64 now)
{
	return ctx->is_active & EVENT_TIME ? now + ctx->timeoffset : ctx->time;
}

#ifdef CONFIG_CGROUP_PERF
static inline u64 perf_cgroup_event_time_now(const struct perf_event *event, u64 now)
{
	const struct perf_cgroup_info *info = per_cpu_ptr(event->cgrp->info, event->cpu);

	return mg_compat_cgroup_runs(event, info) ? now + info->timeoffset : info->time;
}
#endif
#endif

/* The time of @event, whose context is @ctx, at @now. ctx->lock is held. */
static __always_inline u64 perf_event_time_now(const struct perf_event *event,
					       const struct perf_event_context *ctx, u64 now)
{
#ifdef CONFIG_CGROUP_PERF
	if (unlikely(is_cgroup_event(event)))
		return perf_cgroup_event_time_now(event, now);
#endif
	return mg_compat_ctx_time_now(event, ctx, now);
}

#endif /* MG_COMPAT_PERF_EVENT_H */
