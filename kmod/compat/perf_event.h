/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs in <linux/perf_event.h> between Linux 5.10 and 7.3.
 */
#ifndef MG_COMPAT_PERF_EVENT_H
#define MG_COMPAT_PERF_EVENT_H

#include <linux/perf_event.h>
#include <linux/version.h>

/* Private to kernel/events/core.c, the same in all versions: ctx->time runs. */
#define MG_EVENT_TIME	0x4

/* A PMU may be unregistered under a live event. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 15, 0)
#define MG_EVENT_STATE_REVOKED	PERF_EVENT_STATE_REVOKED
#else
#define MG_EVENT_STATE_REVOKED	(PERF_EVENT_STATE_DEAD - 1)
#endif

/* The PMU that reads a whole group: a software leader may sit on another's. */
static inline struct pmu *mg_compat_group_pmu(struct perf_event *leader)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	return leader->pmu_ctx->pmu;
#else
	return leader->pmu;
#endif
}

/*
 * The time of a context, or of a cgroup on its CPU, at @clock, which is perf's
 * clock. One that does not run shows the time at which it stopped. Since 7.0 a
 * second clock of the same type counts the time in guests.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
static inline u64 mg_compat_time(const struct perf_time_ctx *total,
				 const struct perf_time_ctx *guest,
				 const struct perf_event *event,
				 u64 clock, bool running)
{
	u64 time = running ? clock + total->offset : total->time;

	return event->attr.exclude_guest ? time - guest->time : time;
}

static inline u64 mg_compat_ctx_time(const struct perf_event_context *ctx,
				     const struct perf_event *event, u64 clock)
{
	return mg_compat_time(&ctx->time, &ctx->timeguest, event, clock,
			      ctx->is_active & MG_EVENT_TIME);
}

#ifdef CONFIG_CGROUP_PERF
static inline u64 mg_compat_cgroup_time(const struct perf_cgroup_info *info,
					const struct perf_event *event, u64 clock)
{
	return mg_compat_time(&info->time, &info->timeguest, event, clock,
			      info->active);
}
#endif
#else
static inline u64 mg_compat_ctx_time(const struct perf_event_context *ctx,
				     const struct perf_event *event, u64 clock)
{
	return ctx->is_active & MG_EVENT_TIME ? clock + ctx->timeoffset : ctx->time;
}

#ifdef CONFIG_CGROUP_PERF
static inline u64 mg_compat_cgroup_time(const struct perf_cgroup_info *info,
					const struct perf_event *event, u64 clock)
{
	return info->active ? clock + info->timeoffset : info->time;
}
#endif
#endif

#endif /* MG_COMPAT_PERF_EVENT_H */
