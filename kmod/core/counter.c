// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters. Each event group that is a member, or is about to become one, has one
 * counter, which all its users share. Counters of kernel events are created with
 * their members.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

#include "core/counter.h"
#include "core/layers.h"

/* Attempts to describe a counter that is being moved to another CPU. */
#define MG_MOVE_TRIES	4

static DEFINE_MUTEX(mg_counters_mutex);
static DEFINE_HASHTABLE(mg_counters, 10);	/* by leader; mg_counters_mutex */

static struct mg_counter *mg_counter_find(const struct perf_event *leader)
{
	struct mg_counter *counter;

	hash_for_each_possible(mg_counters, counter, node, (unsigned long)leader)
		if (counter->leader == leader)
			return counter;
	return NULL;
}

/* Get the counter of @leader. The reference to @file is consumed on success. */
static struct mg_counter *mg_counter_get(struct perf_event *leader, struct file *file)
{
	struct mg_counter *counter, *new;

	new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	if (!new)
		return ERR_PTR(-ENOMEM);
	kref_init(&new->refs);
	new->file = file;
	new->leader = leader;
	new->id = leader->id;
	mg_counter_init(new, leader->attr.read_format);

	mutex_lock(&mg_counters_mutex);
	counter = mg_counter_find(leader);
	if (counter) {
		kref_get(&counter->refs);
	} else {
		hash_add(mg_counters, &new->node, (unsigned long)leader);
		counter = new;
	}
	mutex_unlock(&mg_counters_mutex);

	if (counter != new) {
		kfree(new);
		fput(file);
	}
	return counter;
}

/**
 * mg_counter_open - get the counter of an event group
 * @fd:		descriptor of the leader
 * @reason:	set to PERF_METAGROUP_REASON_* if @fd is the cause of an error
 *
 * Context: Process context, may sleep. Takes mg_counters_mutex.
 * Return: a reference, or an ERR_PTR().
 */
struct mg_counter *mg_counter_open(int fd, u32 *reason)
{
	struct mg_counter *counter;
	struct perf_event *leader;
	struct file *file;
	int err;

	file = fget(fd);
	if (!file || !(file->f_mode & FMODE_READ)) {
		*reason = PERF_METAGROUP_REASON_BAD_FD;
		err = -EBADF;
		goto put_file;
	}

	leader = mg_event_of_file(file);
	if (!leader) {
		*reason = PERF_METAGROUP_REASON_NOT_PERF;
		err = -EINVAL;
		goto put_file;
	}

	err = mg_event_check_leader(leader, reason);
	if (err)
		goto put_file;

	counter = mg_counter_get(leader, file);
	if (!IS_ERR(counter))
		return counter;
	err = PTR_ERR(counter);

put_file:
	if (file)
		fput(file);
	return ERR_PTR(err);
}

static void mg_counter_forget(struct kref *refs)
{
	struct mg_counter *counter = container_of(refs, struct mg_counter, refs);

	hash_del(&counter->node);
	mutex_unlock(&mg_counters_mutex);
	fput(counter->file);
	kfree(counter);
}

/**
 * mg_counter_put - drop a reference
 * @counter:	the counter of an event group; freed with its last reference
 *
 * Context: Process context, may sleep. Takes mg_counters_mutex.
 */
void mg_counter_put(struct mg_counter *counter)
{
	kref_put_mutex(&counter->refs, mg_counter_forget, &mg_counters_mutex);
}

/**
 * mg_counter_describe - describe a counter without reading it
 * @counter:	the counter
 * @info:	result
 * @ids:	result: ids of the events of a group
 * @max_ids:	entries of @ids
 *
 * Context: Any. Takes ctx->lock.
 * Return: 0, or -EAGAIN while the group is being moved.
 */
int mg_counter_describe(const struct mg_counter *counter, struct mg_event_info *info,
			u64 *ids, u32 max_ids)
{
	if (!counter->ops)
		return mg_leader_describe(counter, info, ids, max_ids);
	counter->ops->describe(counter, info);
	return 0;
}

/**
 * mg_counter_describe_wait - describe a counter, and wait if it is being moved
 * @counter:	the counter
 * @info:	result
 * @ids:	result: ids of leader and siblings
 * @max_ids:	entries of @ids
 *
 * Context: Process context, may sleep.
 * Return: 0, or -EAGAIN if the group was moved during each attempt.
 */
int mg_counter_describe_wait(const struct mg_counter *counter, struct mg_event_info *info,
			     u64 *ids, u32 max_ids)
{
	int tries = MG_MOVE_TRIES;
	int err;

	for (;;) {
		err = mg_counter_describe(counter, info, ids, max_ids);
		if (err != -EAGAIN || !--tries)
			return err;
		mg_event_wait_moved(counter->leader);
	}
}

/**
 * mg_counter_control - enable, disable or reset a leader and its siblings
 * @counter:	the counter, which has a file
 * @perf_cmd:	PERF_EVENT_IOC_ENABLE, _DISABLE or _RESET
 *
 * Calls the ioctl of the leader's file, which walks the siblings under
 * ctx->mutex and calls the security module.
 *
 * Context: Process context, may sleep. Takes ctx->mutex.
 * Return: 0, or the error of that ioctl.
 */
int mg_counter_control(const struct mg_counter *counter, unsigned int perf_cmd)
{
	struct file *file = counter->file;

	return file->f_op->unlocked_ioctl(file, perf_cmd, PERF_IOC_FLAG_GROUP);
}
