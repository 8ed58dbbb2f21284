// SPDX-License-Identifier: GPL-2.0-only
#include <linux/compiler.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/slab.h>

#include "core/attach.h"
#include "core/group.h"
#include "core/limit.h"
#include "core/sweep.h"
#include "device/handle.h"
#include "set/follow.h"
#include "set/join.h"
#include "stream/stream.h"

/**
 * mg_handle_create - create a handle with a new, empty meta-group
 * @file:	the file that is being opened
 *
 * Context: Process context, may sleep.
 * Return: the handle, or an ERR_PTR().
 */
struct mg_handle *mg_handle_create(const struct file *file)
{
	struct mg_handle *handle;
	int err;

	handle = kzalloc(sizeof(*handle), GFP_KERNEL_ACCOUNT);
	if (!handle)
		return ERR_PTR(-ENOMEM);

	handle->limit = mg_limit_get();
	if (IS_ERR(handle->limit)) {
		err = PTR_ERR(handle->limit);
		goto free_handle;
	}
	handle->group = mg_group_create();
	if (IS_ERR(handle->group)) {
		err = PTR_ERR(handle->group);
		goto put_limit;
	}
	init_waitqueue_head(&handle->wait);
	INIT_LIST_HEAD(&handle->joins);
	handle->file = file;
	handle->format = PERF_METAGROUP_FORMAT_RAW;
	return handle;

put_limit:
	mg_limit_put(handle->limit);
free_handle:
	kfree(handle);
	return ERR_PTR(err);
}

/**
 * mg_handle_destroy - free a handle and drop its reference to the meta-group
 * @handle:	no other user is left
 *
 * Context: Process context, may sleep.
 */
void mg_handle_destroy(struct mg_handle *handle)
{
	mg_follow_destroy(handle->follow);
	mg_stream_destroy(handle->stream);
	mg_joins_end(&handle->joins);
	mg_group_put(handle->group);
	mg_limit_put(handle->limit);
	kfree(handle);
}

/**
 * mg_handle_wait - wait until the handle may interrupt CPUs
 * @handle:	the handle
 *
 * Called without the mutex, so that other calls on the meta-group are not delayed.
 * The caller then calls mg_limit_settle() with the number of interrupted CPUs.
 *
 * Context: Process context, may sleep.
 * Return: 0, -EAGAIN if O_NONBLOCK is set and the rate is exceeded, or
 * -ERESTARTSYS.
 */
int mg_handle_wait(const struct mg_handle *handle)
{
	return likely(!handle->limit) ? 0 :
		mg_limit_wait(handle->limit, READ_ONCE(handle->file->f_flags) & O_NONBLOCK);
}

/**
 * mg_handle_wait_and_lock - lock the meta-group of a handle to interrupt its CPUs
 * @handle:	the handle
 *
 * Context: Process context, may sleep. Takes mg_group.mutex; mg_group_unlock()
 * releases it.
 * Return: as mg_handle_wait().
 */
int mg_handle_wait_and_lock(const struct mg_handle *handle)
{
	return mg_handle_wait(handle) ?: mg_group_lock(handle->group);
}

/**
 * mg_handle_reserve_rings - allocate rings for the CPUs of new members
 * @handle:	the handle
 * @attach:	reserved
 *
 * Context: Process context, may sleep. mg_group.mutex is held. Takes rings_lock.
 * Return: as mg_stream_reserve().
 */
int mg_handle_reserve_rings(const struct mg_handle *handle, const struct mg_attach *attach)
{
	int err = 0;
	u32 i;

	for (i = 0; i < attach->nr_members && !err; i++)
		err = mg_stream_reserve(handle->stream, attach->members[i]->cpu);
	return err;
}

/**
 * mg_handle_sweep - sweep the meta-group of a handle
 * @handle:	the handle
 * @req_mask:	as for mg_sweep()
 *
 * If a member has moved to a CPU without deadlines, the sweep may have followed it
 * before a deadline of its old CPU has failed.
 *
 * Context: Process context, may sleep. mg_group.mutex is held. Takes
 * cpu_hotplug_lock and rings_lock.
 */
void mg_handle_sweep(const struct mg_handle *handle, const struct cpumask *req_mask)
{
	struct mg_group *group = handle->group;

	mg_sweep(group, req_mask, handle->limit);
	if (unlikely(group->migrated))
		mg_stream_update(handle->stream);
}
