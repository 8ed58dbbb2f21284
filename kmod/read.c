// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading an event group from outside kernel/events/core.c.
 *
 * What perf_read() does under ctx->mutex in up to three passes (refresh the
 * counters on their CPU, take ctx->lock again, copy) is done here in one pass
 * under ctx->lock alone. docs/locking.md argues why that is enough.
 *
 * Every instruction here is taken from the work of every CPU, at every sweep.
 */
#include <linux/compiler.h>
#include <linux/cpumask.h>
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/perf_event.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include <linux/spinlock.h>

#include "compat/perf_event.h"
#include "group.h"
#include "read.h"

/* The leader's clock, as perf_event_time() would show it after an update. */
static __always_inline u64 mg_event_time(const struct perf_event *event,
					 const struct perf_event_context *ctx,
					 u64 clock)
{
#ifdef CONFIG_CGROUP_PERF
	if (event->cgrp)
		return mg_compat_cgroup_time(per_cpu_ptr(event->cgrp->info, event->cpu),
					     event, clock);
#endif
	return mg_compat_ctx_time(ctx, event, clock);
}

/*
 * A member is bound to a CPU and not to a task, so nobody inherits it: what
 * perf adds for children (child_count, child_total_time_*) is 0.
 */
static __always_inline u64 *mg_write_times(const struct perf_event *leader,
					   const struct perf_event_context *ctx,
					   u32 read_format, u64 clock, u64 *out)
{
	/* A leader's effective state is its own, see __perf_effective_state(). */
	int state = leader->state;
	s64 delta = 0;

	/* @clock may be that of a moment before the event was switched on. */
	if (state >= PERF_EVENT_STATE_INACTIVE)
		delta = max_t(s64, 0, mg_event_time(leader, ctx, clock) - leader->tstamp);

	if (read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		*out++ = leader->total_time_enabled + delta;
	if (read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		*out++ = leader->total_time_running +
			 (state == PERF_EVENT_STATE_ACTIVE ? delta : 0);
	return out;
}

/* What follows a count. */
static __always_inline u64 *mg_write_tags(const struct perf_event *event,
					  u32 read_format, u64 *out)
{
	if (read_format & PERF_FORMAT_ID)
		*out++ = event->id;
	if (unlikely(read_format & PERF_FORMAT_LOST))
		*out++ = atomic64_read(&event->lost_samples);
	return out;
}

/*
 * Siblings are walked by count, not to the end of their list: should the group
 * change under a walker that holds the wrong lock (see docs/locking.md), then
 * the walk still ends, and every step is on an event, which RCU keeps alive
 * while interrupts are off.
 */

/* The grammar of perf_event_read_format in <linux/perf_event.h>. */
static __always_inline int mg_write_record(const struct mg_source *source,
					   const struct perf_event_context *ctx,
					   struct mg_now now, u32 status,
					   struct perf_metagroup_record *record, u32 room)
{
	const struct perf_event *event = source->leader;
	u32 read_format = source->read_format;
	int left = event->nr_siblings;
	u32 size = source->once + (1 + left) * source->each;
	u64 *out = (u64 *)(record + 1);

	if (unlikely(size > room))
		return -EMSGSIZE;

	record->status = status;
	record->time = now.mono;
	record->size = size;

	if (!(read_format & PERF_FORMAT_GROUP)) {
		*out++ = local64_read(&event->count);
		out = mg_write_times(event, ctx, read_format, now.perf, out);
		mg_write_tags(event, read_format, out);
		return status;
	}

	*out++ = 1 + left;
	out = mg_write_times(event, ctx, read_format, now.perf, out);
	for (;;) {
		*out++ = local64_read(&event->count);
		out = mg_write_tags(event, read_format, out);
		if (--left < 0)
			return status;
		event = list_next_entry(event, sibling_list);
	}
}

/* Refresh event->count of an ACTIVE leader (and group), as __perf_event_read(). */
static __always_inline int mg_refresh(const struct mg_source *source)
{
	struct perf_event *event = source->leader;
	struct pmu *pmu;
	int left;

	if (!(source->read_format & PERF_FORMAT_GROUP)) {
		event->pmu->read(event);
		return 0;
	}

	pmu = mg_compat_group_pmu(event);
	pmu->start_txn(pmu, PERF_PMU_TXN_READ);
	event->pmu->read(event);
	for (left = event->nr_siblings; left > 0; left--) {
		event = list_next_entry(event, sibling_list);
		if (event->state == PERF_EVENT_STATE_ACTIVE)
			event->pmu->read(event);
	}
	return pmu->commit_txn(pmu);
}

/*
 * Whether the group is on @ctx and counts, on this CPU. With interrupts off it
 * cannot be descheduled then; on any other CPU its PMU is out of reach.
 */
static __always_inline bool mg_counts_on(const struct perf_event *leader,
					 const struct perf_event_context *ctx,
					 int cpu)
{
	return mg_event_place(leader, ctx) == MG_INSTALLED &&
	       leader->state == PERF_EVENT_STATE_ACTIVE && leader->oncpu == cpu;
}

/* A group that does not count: what there is was brought up to date long ago. */
static noinline int mg_read_still(const struct mg_source *source,
				  const struct perf_event_context *ctx,
				  struct mg_now now,
				  struct perf_metagroup_record *record, u32 room)
{
	enum mg_place place = mg_event_place(source->leader, ctx);
	u32 status;

	/* It may have arrived elsewhere, where it does not count either. */
	if (place == MG_MOVING || READ_ONCE(source->leader->cpu) != record->cpu)
		return -EAGAIN;
	status = mg_event_status(source->leader, place);
	switch (status) {
	case PERF_METAGROUP_OK:
		return -EAGAIN;
	case PERF_METAGROUP_ERROR:
		record->status = status;
		record->time = now.mono;
		record->size = 0;
		return status;
	default:
		return mg_write_record(source, ctx, now, status, record, room);
	}
}

/*
 * Bring a group up to date and write status, time, size and payload of its
 * record. A group that counts can be read on its own CPU only, any other on
 * every CPU. Interrupts are off.
 *
 * Return: the status as in the record. -EAGAIN if the group counts on another
 * CPU or is being moved, -EMSGSIZE if the payload is larger than @room, or the
 * error of its PMU: then the payload was not written.
 */
static __always_inline int mg_read_event(const struct mg_source *source,
					 struct mg_now now,
					 struct perf_metagroup_record *record, u32 room)
{
	struct perf_event *leader = source->leader;
	struct perf_event_context *ctx = READ_ONCE(leader->ctx);
	int ret;

	raw_spin_lock(&ctx->lock);
	if (likely(mg_counts_on(leader, ctx, smp_processor_id()))) {
		ret = mg_refresh(source);
		if (likely(!ret))
			ret = mg_write_record(source, ctx, now, PERF_METAGROUP_OK,
					      record, room);
	} else {
		ret = mg_read_still(source, ctx, now, record, room);
	}
	raw_spin_unlock(&ctx->lock);
	return ret;
}

static __always_inline int mg_read_member(struct mg_member *member,
					  struct mg_now now, u32 room)
{
	struct perf_metagroup_record *record = member->record;
	int ret = mg_read_event(&member->source, now, record, room);

	if (unlikely(ret < 0)) {
		record->status = PERF_METAGROUP_STALE;
		record->time = now.mono;
		record->size = 0;
		member->error = ret;
	} else if (unlikely(member->error)) {
		member->error = 0;
	}
	return ret;
}

static struct mg_now mg_now_on(int cpu)
{
	return (struct mg_now){
		.mono = ktime_get_ns(),
		.perf = cpu_clock(cpu),
	};
}

/**
 * mg_read_here - read all members of this CPU
 * @info:	their meta-group
 *
 * It is called on every CPU in @targets, by IPI or, on the reader's own CPU,
 * directly; interrupts are off.
 *
 * Written are the CPU's own descriptors only. @running is shared but written
 * when its bit changes, that is, seldom; so is @unsettled.
 *
 * The reader may go on, and free all this, as soon as it sees that we are done.
 */
void mg_read_here(void *info)
{
	struct mg_group *group = info;
	u32 room = mg_snapshot_room(&group->snapshot);
	int cpu = smp_processor_id();
	struct mg_cpu *on_cpu = &group->on_cpu[cpu];
	struct mg_now now = mg_now_on(cpu);
	struct mg_member *member;
	bool running = false;
	int ret;

	on_cpu->swept = now.mono;
	for (member = on_cpu->first; member; member = member->next) {
		ret = mg_read_member(member, now, room);
		if (ret == PERF_METAGROUP_OK)
			running = true;
		else if (unlikely(ret < 0))
			WRITE_ONCE(group->unsettled, true);
	}
	if (unlikely(!running))
		cpumask_clear_cpu(cpu, group->running);

	/* Pairs with the wait of mg_sweep_broadcast(). */
	smp_store_release(&on_cpu->done, on_cpu->done + 1);
}

/**
 * mg_read_from_here - read the members of a CPU where none counts
 * @group:	their meta-group
 * @cpu:	where none counted when last looked at; it is not disturbed
 *
 * A group that counts now, or is being moved, gets the CPU back among those
 * that the broadcast goes to.
 */
void mg_read_from_here(struct mg_group *group, int cpu)
{
	u32 room = mg_snapshot_room(&group->snapshot);
	struct mg_cpu *on_cpu = &group->on_cpu[cpu];
	struct mg_member *member;
	struct mg_now now;
	int ret;

	for (member = on_cpu->first; member; member = member->next) {
		local_irq_disable();
		now = mg_now_on(cpu);
		on_cpu->swept = now.mono;
		ret = mg_read_member(member, now, room);
		local_irq_enable();

		if (ret == -EAGAIN || ret == PERF_METAGROUP_OK)
			cpumask_set_cpu(cpu, group->running);
		else if (ret < 0)
			group->unsettled = true;
	}
}

static int mg_read_refresh(const struct mg_source *source)
{
	struct perf_event *leader = source->leader;
	struct perf_event_context *ctx = READ_ONCE(leader->ctx);
	int ret = 0;

	raw_spin_lock(&ctx->lock);
	if (mg_counts_on(leader, ctx, smp_processor_id()))
		ret = mg_refresh(source);
	raw_spin_unlock(&ctx->lock);
	return ret;
}

/**
 * mg_read_ahead - bring all counts of this CPU up to date, for mg_read_asleep()
 * @on_cpu:	this CPU's part of a meta-group; its lock is held
 *
 * Return: 0, or the error of a PMU.
 */
int mg_read_ahead(struct mg_cpu *on_cpu)
{
	struct mg_member *member;
	int err = 0;

	on_cpu->asleep = mg_now_on(smp_processor_id());
	for (member = on_cpu->first; member && !err; member = member->next)
		err = mg_read_refresh(&member->source);
	return err;
}

static int mg_read_event_asleep(const struct mg_source *source, struct mg_now asleep,
				struct perf_metagroup_record *record, u32 room)
{
	struct perf_event *leader = source->leader;
	struct perf_event_context *ctx = READ_ONCE(leader->ctx);
	int ret;

	raw_spin_lock(&ctx->lock);
	if (mg_counts_on(leader, ctx, record->cpu))
		ret = mg_write_record(source, ctx, asleep, PERF_METAGROUP_IDLE,
				      record, room);
	else
		ret = mg_read_still(source, ctx, asleep, record, room);
	raw_spin_unlock(&ctx->lock);
	return ret;
}

/**
 * mg_read_asleep - read what mg_read_ahead() brought up to date
 * @group:	the meta-group, whose mutex is held
 * @cpu:	where that was
 *
 * Whether the CPU still sleeps is for the caller to find out.
 *
 * Return: whether all records could be written.
 */
bool mg_read_asleep(struct mg_group *group, int cpu)
{
	u32 room = mg_snapshot_room(&group->snapshot);
	struct mg_cpu *on_cpu = &group->on_cpu[cpu];
	struct mg_now asleep = data_race(on_cpu->asleep);	/* see mg_quiet_read() */
	struct mg_member *member;
	int ret;

	for (member = on_cpu->first; member; member = member->next) {
		local_irq_disable();
		ret = mg_read_event_asleep(&member->source, asleep,
					   member->record, room);
		local_irq_enable();
		if (ret < 0)
			return false;
		member->error = 0;
	}
	return true;
}
