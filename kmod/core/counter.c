// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters: there is one for each event group that is, or is to become, a
 * member, so all who open the same group share it. Of kernel events each is
 * shared by itself.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

#include "core/counter.h"
#include "set/cpu_work.h"
#include "set/perf_kernel.h"
#include "set/shared.h"
#include "set/spec.h"

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

/**
 * mg_counter_create_kernel - create a counter whose kernel events are to be opened
 * @nr_events:	their number
 * @format:	read_format of the payload
 * @cpu:	their CPU
 *
 * Context: Process context, may sleep.
 * Return: a reference, or NULL.
 */
struct mg_counter *mg_counter_create_kernel(u32 nr_events, u64 format, int cpu)
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
	mg_counter_init(counter, format);
	return counter;
}

/**
 * mg_counter_share_kernel - share kernel events, if all of them are open
 * @counter:	newly created
 * @attrs:	what the events count, see mg_attr_for_counting()
 *
 * Context: Process context, may sleep. Takes mg_shared.mutex and ctx->lock.
 * Return: true, or false if mg_counter_open_kernel() is to be called.
 */
bool mg_counter_share_kernel(struct mg_counter *counter, const struct perf_event_attr *attrs)
{
	bool joined = mg_shared_join(counter->kernel, attrs, counter->nr_kernel, counter->cpu);

	if (joined)
		counter->leader = counter->kernel[0];
	return joined;
}

/**
 * mg_counter_open_kernel - open or share kernel events on their CPU, all or none
 * @counter:	newly created
 * @spec:	what the events count
 * @failure:	set if an event is the cause of an error
 *
 * perf, PMUs and security modules see the credentials of the task that has described
 * the events, whichever task, worker or user of a name opens them.
 *
 * Context: Process context, may sleep; fastest on the CPU of the events. Takes
 * mg_shared.mutex, ctx->mutex and cpu_hotplug_lock.
 * Return: 0 or an error.
 */
int mg_counter_open_kernel(struct mg_counter *counter, struct mg_spec *spec,
			   struct mg_failure *failure)
{
	const struct cred *own = override_creds(spec->cred);
	int err = mg_shared_open(counter->kernel, spec->attrs, counter->nr_kernel, counter->cpu,
				 failure);

	revert_creds(own);
	if (!err)
		counter->leader = counter->kernel[0];
	return err;
}

/**
 * mg_counter_leave_closed - do without the events of a CPU that is offline
 * @counter:	newly created
 */
void mg_counter_leave_closed(struct mg_counter *counter)
{
	mg_kernel_leave_closed(counter->kernel, counter->nr_kernel);
	counter->leader = counter->kernel[0];
}

static void mg_counter_forget(struct kref *refs)
{
	struct mg_counter *counter = container_of(refs, struct mg_counter, refs);

	if (counter->file)
		hash_del(&counter->node);
	mutex_unlock(&mg_counters_mutex);
}

/* Return true for the last reference. */
static bool mg_counter_drop(struct mg_counter *counter)
{
	return kref_put_mutex(&counter->refs, mg_counter_forget, &mg_counters_mutex);
}

/* Return true if there is nothing that the CPU of kernel events had better do. */
static bool mg_counter_leave(struct mg_counter *counter)
{
	if (counter->kernel && mg_kernel_is_opened(counter) &&
	    !mg_shared_leave(counter->kernel, counter->nr_kernel, counter->cpu))
		return false;
	counter->leader = NULL;
	return true;
}

static void mg_counter_free(struct mg_counter *counter)
{
	if (counter->file)
		fput(counter->file);
	else if (mg_kernel_is_opened(counter))
		mg_shared_close(counter->kernel, counter->nr_kernel, counter->cpu);
	kfree(counter->kernel);
	kfree(counter);
}

static void mg_counter_free_work(struct mg_cpu_work *work)
{
	mg_counter_free(work->item);
}

/**
 * mg_counter_put - drop a reference
 * @counter:	the counter; freed with its last reference
 *
 * Context: Process context, may sleep. Takes mg_counters_mutex.
 */
void mg_counter_put(struct mg_counter *counter)
{
	if (mg_counter_drop(counter))
		mg_counter_free(counter);
}

/**
 * mg_counters_put - drop references; each CPU releases its own kernel events
 * @work:	with @cpu, and a counter as @item; changed
 * @count:	entries of @work
 *
 * Context: Process context, may sleep. Takes mg_counters_mutex, and as
 * mg_cpu_works_run().
 */
void mg_counters_put(struct mg_cpu_work *work, u32 count)
{
	struct mg_cpu_works works = { .func = mg_counter_free_work };
	u32 left = 0;
	u32 i;

	for (i = 0; i < count; i++) {
		struct mg_counter *counter = work[i].item;

		if (!mg_counter_drop(counter))
			continue;
		if (mg_counter_leave(counter))
			mg_counter_free(counter);
		else
			work[left++] = work[i];
	}
	mg_cpu_works_run(&works, work, left, false);
}

/**
 * mg_counter_users - how many use an event of a counter
 * @counter:	the counter, which has kernel events
 *
 * Context: Process context, may sleep. Takes mg_shared.mutex.
 * Return: the largest number of users of one of its events.
 */
u32 mg_counter_users(const struct mg_counter *counter)
{
	return mg_shared_users(counter->kernel, counter->nr_kernel, counter->cpu);
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
