// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is known of an event group without reading it.
 */
#include <linux/anon_inodes.h>
#include <linux/list.h>
#include <linux/magic.h>
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

/* Under the lock of the context where it was found. */
u32 mg_event_status(const struct perf_event *event, enum mg_place place)
{
	int state = event->state;

	if (state == MG_EVENT_STATE_REVOKED)
		return PERF_METAGROUP_REVOKED;
	/* Wherever it is: read(2) gives nothing. */
	if (state == PERF_EVENT_STATE_ERROR)
		return PERF_METAGROUP_ERROR;
	if (place != MG_INSTALLED)
		return PERF_METAGROUP_OFFLINE;

	switch (state) {
	case PERF_EVENT_STATE_ACTIVE:
		return PERF_METAGROUP_OK;
	case PERF_EVENT_STATE_INACTIVE:
		return PERF_METAGROUP_INACTIVE;
	default:
		return PERF_METAGROUP_OFF;
	}
}

/**
 * mg_event_describe - look at a group without reading its counters
 * @source:	its leader
 * @info:	filled in
 * @ids:	gets the ids of leader and siblings, @max_ids at most
 * @max_ids:	room in @ids
 *
 * Return: 0, or -EAGAIN while the group is being moved.
 */
int mg_event_describe(const struct mg_source *source, struct mg_event_info *info,
		      u64 *ids, u32 max_ids)
{
	struct perf_event *leader = source->leader;
	struct perf_event_context *ctx = READ_ONCE(leader->ctx);
	struct perf_event *sub = leader;
	enum mg_place place;
	unsigned long flags;
	u32 i;

	raw_spin_lock_irqsave(&ctx->lock, flags);
	place = mg_event_place(leader, ctx);

	info->read_format = source->read_format;
	info->status = mg_event_status(leader, place);
	info->nr_events = 1 + leader->nr_siblings;
	info->payload = source->once + info->nr_events * source->each;
	info->cpu = leader->cpu;

	for (i = 0; i < min(max_ids, info->nr_events); i++) {
		ids[i] = sub->id;
		sub = list_next_entry(sub, sibling_list);
	}

	raw_spin_unlock_irqrestore(&ctx->lock, flags);
	return place == MG_MOVING ? -EAGAIN : 0;
}

/* What @leader's payloads look like, for ever. */
struct mg_source mg_event_source(struct perf_event *leader)
{
	u64 format = leader->attr.read_format;
	u32 words = 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
	u32 times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		    !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	bool group = format & PERF_FORMAT_GROUP;

	return (struct mg_source){
		.leader = leader,
		.read_format = format,
		.once = sizeof(u64) * (times + (group ? 1 : words)),
		.each = sizeof(u64) * (group ? words : 0),
	};
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
