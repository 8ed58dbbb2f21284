// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ioctls of sets.
 */
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/perf_metagroup.h>
#include <linux/security.h>
#include <linux/uaccess.h>

#include "control.h"
#include "copy.h"
#include "follow.h"
#include "group.h"
#include "handle.h"
#include "ioctl_set.h"
#include "set.h"
#include "stream.h"

/* Copy an attr in, as perf_event_open(2) does. */
static int mg_copy_attr(struct perf_event_attr *attr, struct perf_event_attr __user *uattr,
			u32 stride)
{
	u32 size;
	int err;

	if (get_user(size, &uattr->size))
		return -EFAULT;
	if (!size)
		size = PERF_ATTR_SIZE_VER0;
	if (size > stride)
		return -EINVAL;
	err = size < PERF_ATTR_SIZE_VER0 ? -E2BIG :
		copy_struct_from_user(attr, sizeof(*attr), uattr, size);
	if (err == -E2BIG && put_user((u32)sizeof(*attr), &uattr->size))
		err = -EFAULT;
	return err;
}

/* The checks of perf_event_open(2) that are not those of a PMU, for counting. */
static bool mg_attr_is_valid(const struct perf_event_attr *attr)
{
	return !attr->__reserved_1 && !attr->__reserved_2 && !attr->__reserved_3 &&
	       attr->sample_type < PERF_SAMPLE_MAX && attr->read_format < PERF_FORMAT_MAX &&
	       !attr->sample_period;
}

/*
 * The level of perf_event_paranoid is not visible to modules. At the highest one,
 * perf_event_open(2) of some kernels demands CAP_SYS_ADMIN.
 */
static int mg_may_open_attrs(void)
{
	if (!capable(CAP_SYS_ADMIN))
		return -EACCES;
	return security_locked_down(LOCKDOWN_PERF);
}

static int mg_set_copy_attrs(struct mg_set *set, const char __user *uattrs, u32 stride)
{
	struct perf_event_attr attr;
	int err = mg_may_open_attrs();
	u32 i;

	if (err) {
		set->failure.reason = PERF_METAGROUP_REASON_PERMISSION;
		return err;
	}
	for (i = 0; i < set->spec->nr_events; i++, uattrs += stride) {
		memset(&attr, 0, sizeof(attr));
		err = mg_copy_attr(&attr, (struct perf_event_attr __user *)uattrs, stride);
		if (err == -EFAULT)
			return err;
		if (!err && !mg_attr_is_valid(&attr))
			err = -EINVAL;
		if (err) {
			set->failure.event = i;
			set->failure.reason = PERF_METAGROUP_REASON_ATTR;
			return err;
		}
		mg_attr_for_counting(&set->spec->attrs[i], &attr);
	}
	return 0;
}

static int mg_set_copy_templates(struct mg_set *set, const s32 __user *ufds)
{
	s32 fd;
	u32 i;
	int err;

	for (i = 0; i < set->spec->nr_events; i++) {
		if (get_user(fd, ufds + i))
			return -EFAULT;
		err = mg_attr_of_template(fd, &set->spec->attrs[i], &set->failure.reason);
		if (err) {
			set->failure.event = i;
			return err;
		}
	}
	return 0;
}

/* The CPUs of a set: those that the caller names, or all. */
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

/* Attach what has been prepared, as mg_attach() does. */
static int mg_set_attach(struct mg_handle *handle, struct mg_set *set,
			 struct perf_metagroup_open_set *arg, void __user *uarg)
{
	struct mg_group *group = handle->group;
	int err = mg_group_lock(group);

	if (err)
		return err;
	err = mg_attach_reserve(&set->attach, group);
	if (!err)
		err = mg_handle_reserve_rings(handle, &set->attach);
	if (!err) {
		arg->count = set->attach.nr_members;
		err = mg_copy_out_set(set, arg, uarg);
	}
	if (!err) {
		mg_set_commit(set, group);
		mg_stream_update(handle->stream);
	}
	/* A CPU may have come online since. */
	if (!err && set->follow)
		mg_follow_update(handle->follow);
	mg_group_unlock(group);
	return err;
}

/* Follow from now on, for this set and further ones. */
static int mg_set_follow(struct mg_handle *handle)
{
	int err = mg_group_lock(handle->group);
	struct mg_follow *follow;

	if (err)
		return err;
	if (!handle->follow) {
		follow = mg_follow_create(handle->group);
		if (IS_ERR(follow))
			err = PTR_ERR(follow);
		else
			handle->follow = follow;
	}
	mg_group_unlock(handle->group);
	return err;
}

static int mg_set_open(struct mg_handle *handle, struct mg_set *set,
		       struct perf_metagroup_open_set *arg, void __user *uarg)
{
	cpumask_var_t cpus;
	int err;

	if (!zalloc_cpumask_var(&cpus, GFP_KERNEL_ACCOUNT))
		return -ENOMEM;
	err = mg_set_copy_cpus(cpus, arg);
	if (!err && set->follow)
		err = mg_set_follow(handle);
	if (!err)
		err = arg->flags & PERF_METAGROUP_SET_TEMPLATES ?
			mg_set_copy_templates(set, u64_to_user_ptr(arg->events)) :
			mg_set_copy_attrs(set, u64_to_user_ptr(arg->events), arg->stride);
	if (!err)
		err = mg_set_prepare(set, cpus);
	free_cpumask_var(cpus);
	return err ?: mg_set_attach(handle, set, arg, uarg);
}

static bool mg_open_set_is_valid(const struct perf_metagroup_open_set *arg)
{
	u32 stride = arg->flags & PERF_METAGROUP_SET_TEMPLATES ? 0 : arg->stride;

	if (arg->flags & PERF_METAGROUP_SET_TEMPLATES ? arg->stride :
	    stride < PERF_ATTR_SIZE_VER0 || stride > PAGE_SIZE || stride % sizeof(u64))
		return false;
	return !(arg->flags & ~(PERF_METAGROUP_SET_TEMPLATES | PERF_METAGROUP_SET_FOLLOW)) &&
	       arg->nr_events &&
	       arg->nr_words <= MG_MAX_CPU_WORDS && !arg->cpus == !arg->nr_words &&
	       arg->read_format < PERF_FORMAT_MAX && arg->read_format & PERF_FORMAT_GROUP;
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

	set.format = arg.read_format;
	set.follow = arg.flags & PERF_METAGROUP_SET_FOLLOW;
	set.limit = handle->limit;
	set.failure.event = arg.nr_events;
	set.failure.cpu = PERF_METAGROUP_NO_CPU;
	arg.count = 0;
	set.spec = mg_spec_create(arg.nr_events);
	err = set.spec ? mg_set_open(handle, &set, &arg, uarg) : -ENOMEM;
	if (err) {
		arg.count = 0;
		set.attach.first = 0;
		if (mg_copy_out_set(&set, &arg, uarg))
			err = -EFAULT;
	}
	mg_attach_end(&set.attach);
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

	err = mg_group_lock(group);
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
	return err ?: mg_copy_out(uarg, &arg, sizeof(arg));
}
