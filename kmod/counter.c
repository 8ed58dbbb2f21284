// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters: there is one for each event group that is, or is to become, a
 * member, so all who open the same group share it. Of kernel events each is
 * shared by itself.
 */
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

#include "counter.h"
#include "perf_kernel.h"
#include "shared.h"

/* Attempts to describe a counter that is moved to another CPU meanwhile. */
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
	mg_counter_init(new, leader, leader->attr.read_format);

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

static struct mg_counter *mg_counter_alloc_kernel(u32 nr_events, int cpu)
{
	struct mg_counter *counter = kzalloc(sizeof(*counter), GFP_KERNEL_ACCOUNT);

	if (!counter)
		return NULL;
	counter->kernel = kcalloc(nr_events, sizeof(*counter->kernel), GFP_KERNEL_ACCOUNT);
	if (!counter->kernel) {
		kfree(counter);
		return NULL;
	}
	counter->nr_kernel = nr_events;
	counter->cpu = cpu;
	kref_init(&counter->refs);
	return counter;
}

static struct mg_counter *mg_counter_opened(struct mg_counter *counter, u64 format, int err)
{
	if (err) {
		kfree(counter->kernel);
		kfree(counter);
		return ERR_PTR(err);
	}
	mg_counter_init(counter, counter->kernel[0], format);
	return counter;
}

/**
 * mg_counter_open_kernel - open or share kernel events on one CPU, all or none
 * @attrs:	what they count, see mg_attr_for_counting()
 * @nr_events:	entries of @attrs
 * @format:	read_format of the payload
 * @cpu:	the CPU
 * @failure:	set if an event is the cause of an error
 *
 * Context: Process context, may sleep. Takes ctx->mutex and cpu_hotplug_lock.
 * Return: a reference, or an ERR_PTR().
 */
struct mg_counter *mg_counter_open_kernel(struct perf_event_attr *attrs, u32 nr_events,
					  u64 format, int cpu, struct mg_failure *failure)
{
	struct mg_counter *counter = mg_counter_alloc_kernel(nr_events, cpu);
	int err;

	if (!counter)
		return ERR_PTR(-ENOMEM);
	err = mg_shared_open(counter->kernel, attrs, nr_events, cpu, failure);
	return mg_counter_opened(counter, format, err);
}

/**
 * mg_counter_open_offline - get a counter for a CPU that is offline
 * @nr_events:	number of its events, whose counts are 0
 * @format:	read_format of the payload
 * @cpu:	the CPU
 *
 * Context: Process context, may sleep. Takes ctx->mutex and cpu_hotplug_lock.
 * Return: a reference, or an ERR_PTR().
 */
struct mg_counter *mg_counter_open_offline(u32 nr_events, u64 format, int cpu)
{
	struct mg_counter *counter = mg_counter_alloc_kernel(nr_events, cpu);
	int err;

	if (!counter)
		return ERR_PTR(-ENOMEM);
	err = mg_kernel_open_dummies(counter->kernel, nr_events);
	return mg_counter_opened(counter, format, err);
}

static void mg_counter_release(struct kref *refs)
{
	struct mg_counter *counter = container_of(refs, struct mg_counter, refs);

	if (counter->file)
		hash_del(&counter->node);
	mutex_unlock(&mg_counters_mutex);
	if (counter->file)
		fput(counter->file);
	else
		mg_shared_close(counter->kernel, counter->nr_kernel);
	kfree(counter->kernel);
	kfree(counter);
}

/**
 * mg_counter_put - drop a reference
 * @counter:	the counter; freed with its last reference
 *
 * Context: Process context, may sleep. Takes mg_counters_mutex.
 */
void mg_counter_put(struct mg_counter *counter)
{
	kref_put_mutex(&counter->refs, mg_counter_release, &mg_counters_mutex);
}

/**
 * mg_counter_users - how many use an event of a counter
 * @counter:	the counter, which has kernel events
 *
 * Context: Process context, may sleep. Takes mg_shared_mutex.
 */
u32 mg_counter_users(const struct mg_counter *counter)
{
	return mg_shared_users(counter->kernel, counter->nr_kernel);
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
	if (!counter->kernel)
		return mg_leader_describe(counter, info, ids, max_ids);
	mg_kernel_describe(counter, info);
	return 0;
}

/**
 * mg_counter_describe_wait - mg_counter_describe() that waits for moves to end
 * @counter:	the counter
 * @info:	result
 * @ids:	result: ids of leader and siblings
 * @max_ids:	entries of @ids
 *
 * Context: Process context, may sleep.
 * Return: 0, or -EAGAIN if the group was moved again each time.
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
