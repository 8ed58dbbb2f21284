// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ioctls of the events of one member.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/perf_metagroup.h>
#include <linux/uaccess.h>

#include "core/group.h"
#include "core/limit.h"
#include "device/copy.h"
#include "device/copy_events.h"
#include "device/handle.h"
#include "device/ioctl.h"
#include "set/follow.h"
#include "set/replace.h"
#include "set/set.h"
#include "stream/stream.h"

/* Find a set member. mg_group.mutex is held. */
static struct mg_member *mg_find_kernel(const struct mg_group *group, u32 id)
{
	int index = mg_frames_find(&group->frames, id);

	if (index < 0)
		return ERR_PTR(index);
	return group->frames.members[index]->view ? group->frames.members[index] :
						    ERR_PTR(-EINVAL);
}

/* Open the events of @set for the member, or return an ERR_PTR(). */
static struct mg_member *mg_open_events(struct mg_handle *handle, u32 id, struct mg_set *set)
{
	struct mg_member *member;
	int err, cpu;

	err = mg_group_lock(handle->group);
	if (err)
		return ERR_PTR(err);
	member = mg_find_kernel(handle->group, id);
	if (!IS_ERR(member)) {
		set->format = member->counter->read_format;
		set->follow = member->view->follow;
		cpu = member->cpu;
	}
	mg_group_unlock(handle->group);
	if (IS_ERR(member))
		return member;

	member = mg_set_open_member(set, cpu);
	if (IS_ERR(member) || mg_kernel_is_opened(member->counter))
		return member;
	/* perf has not checked the attrs before. */
	mg_members_destroy(&member, 1);
	return ERR_PTR(-ENODEV);
}

static int mg_copy_out_set_events(const struct mg_set *set, struct perf_metagroup_events *arg,
				  void __user *uarg)
{
	arg->failed = set->failure.event;
	arg->reason = set->failure.reason;
	return mg_copy_out(uarg, arg, sizeof(*arg));
}

/* Replace the member that has the number by @member, which is set to the old member. */
static int mg_replace(struct mg_handle *handle, struct mg_member **member,
		      const struct mg_set *set, struct perf_metagroup_events *arg,
		      void __user *uarg)
{
	struct mg_group *group = handle->group;
	struct mg_member *old;
	int err = mg_group_lock(group);

	if (err)
		return err;
	old = mg_find_kernel(group, arg->member);
	err = IS_ERR(old) ? PTR_ERR(old) : mg_replace_reserve(group, old, *member);
	if (!err)
		err = mg_copy_out_set_events(set, arg, uarg);
	if (!err) {
		mg_replace_commit(group, old, *member);
		*member = old;
		mg_stream_update(handle->stream);
	}
	/* The CPU may have been offline meanwhile. */
	if (!err && set->follow)
		mg_follow_update(handle->follow);
	mg_group_unlock(group);
	return err;
}

static int mg_set_events(struct mg_handle *handle, struct mg_set *set,
			 struct perf_metagroup_events *arg, void __user *uarg)
{
	struct mg_member *member;
	int err;

	err = mg_copy_in_events(set, arg->flags & PERF_METAGROUP_SET_TEMPLATES,
				u64_to_user_ptr(arg->events), arg->stride);
	if (err)
		return err;
	member = mg_open_events(handle, arg->member, set);
	if (IS_ERR(member))
		return PTR_ERR(member);
	err = mg_replace(handle, &member, set, arg, uarg);
	mg_members_destroy(&member, 1);
	return err;
}

/**
 * mg_ioctl_set_events - SET_EVENTS
 * @handle:	the handle
 * @uarg:	struct perf_metagroup_events
 *
 * Context: Process context, may sleep and fault. Takes mg_group.mutex.
 * Return: as documented in uapi/linux/perf_metagroup.h.
 */
long mg_ioctl_set_events(struct mg_handle *handle, void __user *uarg)
{
	struct perf_metagroup_events arg;
	struct mg_set set = { .limit = handle->limit };
	int err;

	err = mg_copy_in(&arg, sizeof(arg), PERF_METAGROUP_EVENTS_SIZE_VER1, uarg);
	if (err)
		return err;
	if (arg.flags & ~PERF_METAGROUP_SET_TEMPLATES || arg.reserved || !arg.nr_events ||
	    !mg_events_stride_is_valid(arg.flags, arg.stride))
		return -EINVAL;
	if (arg.nr_events > PERF_METAGROUP_MAX_SET_EVENTS)
		return -E2BIG;
	err = mg_handle_wait(handle);
	if (err)
		return err;

	set.failure.event = arg.nr_events;
	set.spec = mg_spec_create(arg.nr_events, current_cred());
	err = set.spec ? mg_set_events(handle, &set, &arg, uarg) : -ENOMEM;
	if (err && mg_copy_out_set_events(&set, &arg, uarg))
		err = -EFAULT;
	mg_limit_settle(handle->limit, !err);
	mg_spec_put(set.spec);
	return err;
}

static struct mg_spec *mg_get_spec(struct mg_group *group, u32 id)
{
	struct mg_member *member;
	struct mg_spec *spec;
	int err = mg_group_lock(group);

	if (err)
		return ERR_PTR(err);
	member = mg_find_kernel(group, id);
	spec = IS_ERR(member) ? ERR_CAST(member) : member->view->spec;
	if (!IS_ERR(spec))
		kref_get(&spec->refs);
	mg_group_unlock(group);
	return spec;
}

/**
 * mg_ioctl_get_events - GET_EVENTS
 * @handle:	the handle
 * @uarg:	struct perf_metagroup_events
 *
 * Context: Process context, may sleep and fault. Takes mg_group.mutex.
 * Return: as documented in uapi/linux/perf_metagroup.h.
 */
long mg_ioctl_get_events(struct mg_handle *handle, void __user *uarg)
{
	struct perf_metagroup_events arg;
	struct mg_spec *spec;
	u32 room;
	int err;

	err = mg_copy_in(&arg, sizeof(arg), PERF_METAGROUP_EVENTS_SIZE_VER1, uarg);
	if (err)
		return err;
	if (arg.flags || arg.reserved ||
	    (arg.events && !mg_events_stride_is_valid(false, arg.stride)))
		return -EINVAL;

	spec = mg_get_spec(handle->group, arg.member);
	if (IS_ERR(spec))
		return PTR_ERR(spec);
	room = arg.nr_events;
	arg.nr_events = spec->nr_events;
	arg.failed = spec->nr_events;
	arg.reason = PERF_METAGROUP_REASON_NONE;
	err = mg_copy_out(uarg, &arg, sizeof(arg));
	if (!err && arg.events)
		err = room < spec->nr_events ? -ENOSPC :
			mg_copy_out_events(spec, u64_to_user_ptr(arg.events), arg.stride);
	mg_spec_put(spec);
	return err;
}
