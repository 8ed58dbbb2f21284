// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading an event group from outside kernel/events/core.c.
 *
 * What perf_read() does under ctx->mutex in up to three passes (refresh the
 * counters on their CPU, take ctx->lock again, copy) is done here in one pass
 * under ctx->lock alone. docs/locking.md argues why that is enough.
 */
#include <linux/anon_inodes.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/magic.h>
#include <linux/sched/clock.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "compat/perf_event.h"
#include "event.h"

/* The f_op of all perf files. Set once, by the first that is seen. */
static const struct file_operations *mg_perf_fops;

/*
 * perf_fops is not exported. A perf file is an anonymous inode whose name user
 * space cannot choose, so the first file of that name tells perf_fops.
 *
 * Returns the event, NULL if @file is not a perf event.
 */
struct perf_event *mg_event_of_file(struct file *file)
{
	if (!READ_ONCE(mg_perf_fops) &&
	    file_inode(file)->i_sb->s_magic == ANON_INODE_FS_MAGIC &&
	    !strcmp(file->f_path.dentry->d_name.name, "[perf_event]"))
		cmpxchg(&mg_perf_fops, NULL, file->f_op);

	return file->f_op == READ_ONCE(mg_perf_fops) ? file->private_data : NULL;
}

/* Where a group is, seen under the lock of the context it was found on. */
enum mg_place {
	MG_INSTALLED,	/* on that context */
	MG_DISSOLVED,	/* on none, for good */
	MG_MOVING,	/* on its way to another */
};

/*
 * Look at @event under @ctx->lock, interrupts off, where @ctx was event->ctx
 * before the lock was taken.
 *
 * If installed, it stays there and its sibling_list stands still until the
 * lock is dropped, because both change under this lock only.
 *
 * Hotplug and a vanishing PMU dissolve the group; a move to another CPU or PMU
 * (perf_pmu_migrate_context(), move_group) keeps it together.
 */
static enum mg_place mg_event_place(const struct perf_event *event,
				    const struct perf_event_context *ctx)
{
	/*
	 * Pairs with smp_store_release(&event->ctx) in perf_install_in_context():
	 * an event that was put on another context since has its ->ctx stored
	 * before list_add_event() set PERF_ATTACH_CONTEXT under that one's lock.
	 */
	unsigned int attached = smp_load_acquire(&event->attach_state);

	if (READ_ONCE(event->ctx) != ctx)
		return MG_MOVING;
	if (attached & PERF_ATTACH_CONTEXT)
		return MG_INSTALLED;
	return attached & PERF_ATTACH_GROUP ? MG_MOVING : MG_DISSOLVED;
}

static u32 mg_event_status(const struct perf_event *event, enum mg_place place)
{
	int state = event->state;

	if (state == MG_EVENT_STATE_REVOKED)
		return PERF_METAGROUP_REVOKED;
	if (place != MG_INSTALLED)
		return PERF_METAGROUP_OFFLINE;

	switch (state) {
	case PERF_EVENT_STATE_ACTIVE:
		return PERF_METAGROUP_OK;
	case PERF_EVENT_STATE_INACTIVE:
		return PERF_METAGROUP_INACTIVE;
	case PERF_EVENT_STATE_ERROR:
		return PERF_METAGROUP_ERROR;
	default:
		return PERF_METAGROUP_OFF;
	}
}

/* Bytes that read(2) of @leader returns; its read_size may be that of one event. */
static u32 mg_payload_size(u64 read_format, u32 nr_events)
{
	u32 per_event = 1 + !!(read_format & PERF_FORMAT_ID) +
			!!(read_format & PERF_FORMAT_LOST);
	u32 once = !!(read_format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		   !!(read_format & PERF_FORMAT_TOTAL_TIME_RUNNING);

	if (read_format & PERF_FORMAT_GROUP)
		return sizeof(u64) * (1 + once + nr_events * per_event);
	return sizeof(u64) * (once + per_event);
}

struct mg_now mg_now_on(int cpu)
{
	return (struct mg_now){
		.mono = ktime_get_ns(),
		.perf = cpu_clock(cpu),
	};
}

/* The leader's clock, as perf_event_time() would show it after an update. */
static u64 mg_event_time(const struct perf_event *event,
			 const struct perf_event_context *ctx, u64 clock)
{
#ifdef CONFIG_CGROUP_PERF
	if (event->cgrp)
		return mg_compat_cgroup_time(per_cpu_ptr(event->cgrp->info, event->cpu),
					     event, clock);
#endif
	return mg_compat_ctx_time(ctx, event, clock);
}

static u64 mg_count(const struct perf_event *event)
{
	return local64_read(&event->count) + atomic64_read(&event->child_count);
}

/* What follows a count. */
static u64 *mg_write_tags(const struct perf_event *event, u64 read_format,
			  u64 *out)
{
	if (read_format & PERF_FORMAT_ID)
		*out++ = event->id;
	if (read_format & PERF_FORMAT_LOST)
		*out++ = atomic64_read(&event->lost_samples);
	return out;
}

static u64 *mg_write_times(const struct perf_event *leader,
			   const struct perf_event_context *ctx,
			   u64 read_format, u64 clock, u64 *out)
{
	/* A leader's effective state is its own, see __perf_effective_state(). */
	int state = leader->state;
	s64 delta = 0;

	/* @clock may be that of a moment before the event was switched on. */
	if (state >= PERF_EVENT_STATE_INACTIVE)
		delta = max_t(s64, 0, mg_event_time(leader, ctx, clock) - leader->tstamp);

	if (read_format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		*out++ = leader->total_time_enabled + delta +
			 atomic64_read(&leader->child_total_time_enabled);
	if (read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		*out++ = leader->total_time_running +
			 (state == PERF_EVENT_STATE_ACTIVE ? delta : 0) +
			 atomic64_read(&leader->child_total_time_running);
	return out;
}

/*
 * Siblings are walked by count, not to the end of their list: should the group
 * change under a walker that holds the wrong lock (see docs/locking.md), then
 * the walk still ends, and every step is on an event, which RCU keeps alive
 * while interrupts are off.
 */

/* Refresh event->count of an ACTIVE leader (and group), as __perf_event_read(). */
static int mg_pmu_read(struct perf_event *leader, bool group)
{
	struct perf_event *sub = leader;
	struct pmu *pmu;
	int left;

	if (!group) {
		leader->pmu->read(leader);
		return 0;
	}

	pmu = mg_compat_group_pmu(leader);
	pmu->start_txn(pmu, PERF_PMU_TXN_READ);
	leader->pmu->read(leader);
	for (left = leader->nr_siblings; left > 0; left--) {
		sub = list_next_entry(sub, sibling_list);
		if (sub->state == PERF_EVENT_STATE_ACTIVE)
			sub->pmu->read(sub);
	}
	return pmu->commit_txn(pmu);
}

/* The grammar of perf_event_read_format in <linux/perf_event.h>. */
static void mg_write_payload(const struct perf_event *leader,
			     const struct perf_event_context *ctx,
			     u64 read_format, u64 clock, u64 *out)
{
	const struct perf_event *sub = leader;
	int left;

	if (!(read_format & PERF_FORMAT_GROUP)) {
		*out++ = mg_count(leader);
		out = mg_write_times(leader, ctx, read_format, clock, out);
		mg_write_tags(leader, read_format, out);
		return;
	}

	*out++ = 1 + leader->nr_siblings;
	out = mg_write_times(leader, ctx, read_format, clock, out);
	*out++ = mg_count(leader);
	out = mg_write_tags(leader, read_format, out);
	for (left = leader->nr_siblings; left > 0; left--) {
		sub = list_next_entry(sub, sibling_list);
		*out++ = mg_count(sub);
		out = mg_write_tags(sub, read_format, out);
	}
}

/*
 * With interrupts off on the CPU that the group counts on, it cannot be
 * descheduled; on any other, its PMU is out of reach.
 */
static int mg_event_refresh_locked(struct perf_event *leader)
{
	if (unlikely(leader->oncpu != smp_processor_id()))
		return -EAGAIN;
	return mg_pmu_read(leader, leader->attr.read_format & PERF_FORMAT_GROUP);
}

static int mg_event_read_locked(struct perf_event *leader,
				const struct perf_event_context *ctx,
				const struct mg_now *now, bool asleep,
				struct perf_metagroup_record *record, u32 room)
{
	enum mg_place place = mg_event_place(leader, ctx);
	u64 read_format = leader->attr.read_format;
	u32 status, size;
	int err;

	if (unlikely(place == MG_MOVING))
		return -EAGAIN;

	status = mg_event_status(leader, place);
	if (status == PERF_METAGROUP_ERROR) {
		size = 0;
		goto done;
	}

	size = mg_payload_size(read_format, 1 + leader->nr_siblings);
	if (unlikely(size > room))
		return -EMSGSIZE;

	if (status == PERF_METAGROUP_OK) {
		if (!asleep) {
			err = mg_event_refresh_locked(leader);
			if (unlikely(err))
				return err;
		} else if (leader->oncpu == record->cpu) {
			status = PERF_METAGROUP_IDLE;
		} else {
			return -EAGAIN;
		}
	}

	mg_write_payload(leader, ctx, read_format, now->perf, (u64 *)(record + 1));
done:
	record->status = status;
	record->time = now->mono;
	record->size = size;
	return status;
}

/**
 * mg_event_read - bring a group up to date and write its record
 * @leader:	the leader
 * @now:	this instant; now->perf is of the CPU that @leader is bound to
 * @record:	gets status, time, size and, behind it, the payload
 * @room:	bytes for the payload
 *
 * Interrupts are off. A group that counts can be read on its own CPU only, any
 * other on every CPU.
 *
 * Return: the status as in the record. -EAGAIN if the group counts on another
 * CPU or is being moved, -EMSGSIZE if the payload is larger than @room, or the
 * error of its PMU: then the payload was not written.
 */
int mg_event_read(struct perf_event *leader, const struct mg_now *now,
		  struct perf_metagroup_record *record, u32 room)
{
	struct perf_event_context *ctx = READ_ONCE(leader->ctx);
	int ret;

	raw_spin_lock(&ctx->lock);
	ret = mg_event_read_locked(leader, ctx, now, false, record, room);
	raw_spin_unlock(&ctx->lock);
	return ret;
}

/**
 * mg_event_refresh - bring the counts of a group up to date, for later
 * @leader:	the leader; interrupts are off on the CPU that it is bound to
 *
 * Return: 0 if they are, or if the group does not count.
 */
int mg_event_refresh(struct perf_event *leader)
{
	struct perf_event_context *ctx = READ_ONCE(leader->ctx);
	int ret = 0;

	raw_spin_lock(&ctx->lock);
	if (mg_event_status(leader, mg_event_place(leader, ctx)) == PERF_METAGROUP_OK)
		ret = mg_event_refresh_locked(leader);
	raw_spin_unlock(&ctx->lock);
	return ret;
}

/**
 * mg_event_read_asleep - as mg_event_read(), from any CPU
 * @leader:	the leader, refreshed when record->cpu fell asleep
 * @asleep:	when that was
 * @record:	as there
 * @room:	as there
 *
 * Whether the CPU still sleeps is for the caller to find out.
 */
int mg_event_read_asleep(struct perf_event *leader, const struct mg_now *asleep,
			 struct perf_metagroup_record *record, u32 room)
{
	struct perf_event_context *ctx = READ_ONCE(leader->ctx);
	int ret;

	raw_spin_lock(&ctx->lock);
	ret = mg_event_read_locked(leader, ctx, asleep, true, record, room);
	raw_spin_unlock(&ctx->lock);
	return ret;
}

/**
 * mg_event_describe - look at a group without reading its counters
 * @leader:	the leader
 * @info:	filled in
 * @ids:	gets the ids of leader and siblings, @max_ids at most
 * @max_ids:	room in @ids
 *
 * Return: 0, or -EAGAIN while the group is being moved.
 */
int mg_event_describe(struct perf_event *leader, struct mg_event_info *info,
		      u64 *ids, u32 max_ids)
{
	struct perf_event_context *ctx = READ_ONCE(leader->ctx);
	struct perf_event *sub = leader;
	enum mg_place place;
	unsigned long flags;
	u32 i;

	raw_spin_lock_irqsave(&ctx->lock, flags);
	place = mg_event_place(leader, ctx);

	info->read_format = leader->attr.read_format;
	info->status = mg_event_status(leader, place);
	info->nr_events = 1 + leader->nr_siblings;
	info->payload = mg_payload_size(info->read_format, info->nr_events);
	info->cpu = leader->cpu;

	for (i = 0; i < min(max_ids, info->nr_events); i++) {
		ids[i] = sub->id;
		sub = list_next_entry(sub, sibling_list);
	}

	raw_spin_unlock_irqrestore(&ctx->lock, flags);
	return place == MG_MOVING ? -EAGAIN : 0;
}

/* Can this event be a member? If not, *@reason says why. */
int mg_event_check_leader(struct perf_event *event, u32 *reason)
{
	if (READ_ONCE(event->group_leader) != event) {
		*reason = PERF_METAGROUP_REASON_SIBLING;
		return -EINVAL;
	}
	if (READ_ONCE(event->attach_state) & PERF_ATTACH_TASK ||
	    READ_ONCE(event->cpu) < 0) {
		*reason = PERF_METAGROUP_REASON_TASK;
		return -EINVAL;
	}
	return 0;
}

/*
 * Wait until a move of @event to another context is over: movers hold both
 * ctx->mutexes all the while, and this call takes one of them.
 */
void mg_event_wait_moved(struct perf_event *event)
{
	u64 enabled, running;

	perf_event_read_value(event, &enabled, &running);
}
