// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ioctls of sets.
 */
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/perf_metagroup.h>
#include <linux/uaccess.h>

#include "core/group.h"
#include "core/limit.h"
#include "core/perf_access.h"
#include "device/copy.h"
#include "device/copy_events.h"
#include "device/handle.h"
#include "device/ioctl.h"
#include "set/control.h"
#include "set/follow.h"
#include "set/set.h"
#include "stream/stream.h"

/* The CPUs of a set: those that the caller has specified, or all. */
static int mg_set_copy_cpus(struct cpumask *cpus, const struct perf_metagroup_open_set *arg)
{
	int err;

	if (!arg->cpus) {
		cpumask_copy(cpus, arg->flags & PERF_METAGROUP_SET_FOLLOW ?
			     cpu_present_mask : cpu_online_mask);
		return 0;
	}
	err = mg_copy_in_cpus(cpus, u64_to_user_ptr(arg->cpus), arg->nr_words);
	if (err < 0)
		return err;
	return err || cpumask_empty(cpus) || !cpumask_subset(cpus, cpu_possible_mask) ? -EINVAL : 0;
}

static int mg_copy_out_set(const struct mg_set *set, struct perf_metagroup_open_set *arg,
			   void __user *uarg)
{
	arg->first = set->attach.first;
	arg->failed = set->failure.event;
	arg->failed_cpu = set->failure.cpu;
	arg->reason = set->failure.reason;
	return mg_copy_out(uarg, arg, sizeof(*arg));
}

/* Follow CPU hotplug from now on, for this set and later ones. */
static int mg_handle_follow(struct mg_handle *handle)
{
	struct mg_follow *follow;

	if (handle->follow)
		return 0;
	follow = mg_follow_create(handle->group);
	if (IS_ERR(follow))
		return PTR_ERR(follow);
	handle->follow = follow;
	return 0;
}

/**
 * mg_ioctl_reserve_set - lock the meta-group of a handle, and reserve memory for a set
 * @handle:	the handle
 * @set:	prepared
 *
 * Context: Process context, may sleep. Takes mg_group.mutex, which
 * mg_ioctl_finish_set() releases, and cpu_hotplug_lock.
 * Return: 0 or an error.
 */
int mg_ioctl_reserve_set(struct mg_handle *handle, struct mg_set *set)
{
	int err = mg_group_lock(handle->group);

	if (err)
		return err;
	err = mg_attach_reserve(&set->attach, handle->group);
	if (!err)
		err = mg_handle_reserve_rings(handle, &set->attach);
	if (!err && set->follow)
		err = mg_handle_follow(handle);
	if (err)
		mg_group_unlock(handle->group);
	return err;
}

/**
 * mg_ioctl_finish_set - attach a set, and unlock the meta-group
 * @handle:	the handle
 * @set:	reserved
 * @err:	do not attach it
 *
 * Context: Process context, may sleep. mg_group.mutex is held. Takes
 * mg_claims_mutex, mg_cpu.lock, cpu_hotplug_lock and rings_lock.
 */
void mg_ioctl_finish_set(struct mg_handle *handle, struct mg_set *set, int err)
{
	if (!err) {
		mg_set_commit(set, handle->group);
		mg_stream_update(handle->stream);
	}
	/* A CPU may have come online meanwhile. */
	if (!err && set->follow)
		mg_follow_update(handle->follow);
	mg_group_unlock(handle->group);
}

static int mg_set_open(struct mg_handle *handle, struct mg_set *set,
		       struct perf_metagroup_open_set *arg, void __user *uarg)
{
	cpumask_var_t cpus;
	int err;

	if (!zalloc_cpumask_var(&cpus, GFP_KERNEL_ACCOUNT))
		return -ENOMEM;
	err = mg_set_copy_cpus(cpus, arg);
	if (!err)
		err = mg_copy_in_events(set, arg->flags & PERF_METAGROUP_SET_TEMPLATES,
					u64_to_user_ptr(arg->events), arg->stride);
	if (!err)
		err = mg_set_prepare(set, cpus);
	free_cpumask_var(cpus);
	if (!err)
		err = mg_ioctl_reserve_set(handle, set);
	if (err)
		return err;

	/* Before the members are visible, so that a failed copy leaves nothing to undo. */
	arg->count = set->attach.nr_members;
	err = mg_copy_out_set(set, arg, uarg);
	mg_ioctl_finish_set(handle, set, err);
	return err;
}

static bool mg_open_set_is_valid(const struct perf_metagroup_open_set *arg)
{
	return !(arg->flags & ~(PERF_METAGROUP_SET_TEMPLATES | PERF_METAGROUP_SET_FOLLOW)) &&
	       mg_events_stride_is_valid(arg->flags & PERF_METAGROUP_SET_TEMPLATES, arg->stride) &&
	       arg->nr_events &&
	       arg->nr_words <= MG_MAX_CPU_WORDS && !arg->cpus == !arg->nr_words &&
	       arg->read_format < MG_FORMAT_MAX && arg->read_format & PERF_FORMAT_GROUP;
}

/**
 * mg_ioctl_open_set - OPEN_SET
 * @handle:	the handle
 * @uarg:	struct perf_metagroup_open_set
 *
 * Context: Process context, may sleep and fault. Takes mg_group.mutex.
 * Return: as documented in uapi/linux/perf_metagroup.h.
 */
long mg_ioctl_open_set(struct mg_handle *handle, void __user *uarg)
{
	struct perf_metagroup_open_set arg;
	struct mg_set set = { };
	int err;

	err = mg_copy_in(&arg, sizeof(arg), PERF_METAGROUP_OPEN_SET_SIZE_VER1, uarg);
	if (err)
		return err;
	if (!mg_open_set_is_valid(&arg))
		return -EINVAL;
	if (arg.nr_events > PERF_METAGROUP_MAX_SET_EVENTS)
		return -E2BIG;
	err = mg_handle_wait(handle);
	if (err)
		return err;

	set.format = arg.read_format;
	set.follow = arg.flags & PERF_METAGROUP_SET_FOLLOW;
	set.limit = handle->limit;
	set.failure.event = arg.nr_events;
	set.failure.cpu = PERF_METAGROUP_NO_CPU;
	arg.count = 0;
	set.spec = mg_spec_create(arg.nr_events, current_cred());
	err = set.spec ? mg_set_open(handle, &set, &arg, uarg) : -ENOMEM;
	if (err) {
		arg.count = 0;
		set.attach.first = 0;
		if (mg_copy_out_set(&set, &arg, uarg))
			err = -EFAULT;
	}
	mg_attach_end(&set.attach);
	mg_limit_settle(handle->limit, arg.count);
	mg_spec_put(set.spec);
	return err;
}

/**
 * mg_ioctl_control_sets - CONTROL
 * @handle:	the handle
 * @uarg:	struct perf_metagroup_control
 *
 * Context: Process context, may sleep and fault. Takes mg_group.mutex.
 * Return: as documented in uapi/linux/perf_metagroup.h.
 */
long mg_ioctl_control_sets(struct mg_handle *handle, void __user *uarg)
{
	struct mg_group *group = handle->group;
	struct perf_metagroup_control arg;
	struct mg_control control = { .last = U32_MAX };
	int err;

	err = mg_copy_in(&arg, sizeof(arg), PERF_METAGROUP_CONTROL_SIZE_VER1, uarg);
	if (err)
		return err;
	if (arg.flags || arg.reserved || arg.op > PERF_METAGROUP_RESET ||
	    arg.nr_words > MG_MAX_CPU_WORDS || !arg.cpus != !arg.nr_words)
		return -EINVAL;

	err = mg_handle_wait_and_lock(handle);
	if (err)
		return err;
	control.op = arg.op;
	if (arg.cpus) {
		control.cpus = group->req_mask;
		err = min(mg_copy_in_cpus(group->req_mask, u64_to_user_ptr(arg.cpus),
					  arg.nr_words), 0);
	}
	if (!err) {
		mg_control_sets(group, &control);
		arg.begin = control.begin;
		arg.end = control.end;
		arg.skew = control.skew;
		arg.members = control.members;
	}
	mg_group_unlock(group);
	mg_limit_settle(handle->limit, control.interrupted);
	return err ?: mg_copy_out(uarg, &arg, sizeof(arg));
}
