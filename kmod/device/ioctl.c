// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ioctls: copy arguments in, call the core, and copy results out.
 */
#include <linux/build_bug.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kconfig.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/perf_metagroup.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "core/attach.h"
#include "core/group.h"
#include "core/limit.h"
#include "device/copy.h"
#include "device/handle.h"
#include "device/ioctl.h"
#include "set/control.h"
#include "quiet/quiet.h"
#include "stream/stream.h"

/* The current version of each structure. */
static_assert(sizeof(struct perf_metagroup_snapshot) == PERF_METAGROUP_SNAPSHOT_SIZE_VER1);
static_assert(sizeof(struct perf_metagroup_record) == PERF_METAGROUP_RECORD_SIZE_VER1);
static_assert(sizeof(struct perf_metagroup_map) == PERF_METAGROUP_MAP_SIZE_VER1);
static_assert(sizeof(struct perf_metagroup_info) == PERF_METAGROUP_INFO_SIZE_VER1);
static_assert(sizeof(struct perf_metagroup_attach) == PERF_METAGROUP_ATTACH_SIZE_VER1);
static_assert(sizeof(struct perf_metagroup_detach) == PERF_METAGROUP_DETACH_SIZE_VER1);
static_assert(sizeof(struct perf_metagroup_format) == PERF_METAGROUP_FORMAT_SIZE_VER1);
static_assert(sizeof(struct perf_metagroup_member) == PERF_METAGROUP_MEMBER_SIZE_VER2);
static_assert(sizeof(struct perf_metagroup_set_record) ==
	      PERF_METAGROUP_SET_RECORD_SIZE_VER1);
static_assert(sizeof(struct perf_metagroup_sweep) == PERF_METAGROUP_SWEEP_SIZE_VER1);
static_assert(sizeof(struct perf_metagroup_mode) == PERF_METAGROUP_MODE_SIZE_VER1);
static_assert(sizeof(struct perf_metagroup_stream) == PERF_METAGROUP_STREAM_SIZE_VER1);
static_assert(sizeof(struct perf_metagroup_open_set) == PERF_METAGROUP_OPEN_SET_SIZE_VER1);
static_assert(sizeof(struct perf_metagroup_control) == PERF_METAGROUP_CONTROL_SIZE_VER1);
static_assert(sizeof(struct perf_metagroup_events) == PERF_METAGROUP_EVENTS_SIZE_VER1);
static_assert(sizeof(struct perf_metagroup_publish) == PERF_METAGROUP_PUBLISH_SIZE_VER1);
static_assert(sizeof(struct perf_metagroup_name) == PERF_METAGROUP_NAME_SIZE_VER1);

#define MG_FEATURES	(PERF_METAGROUP_FEATURE_FRAMED | PERF_METAGROUP_FEATURE_SWEEP | \
			 PERF_METAGROUP_FEATURE_MAP | PERF_METAGROUP_FEATURE_SKIP_ISOLATED | \
			 (IS_ENABLED(CONFIG_PERF_METAGROUP_QUIET) ? \
			  PERF_METAGROUP_FEATURE_QUIET : 0) | \
			 (IS_ENABLED(CONFIG_PERF_METAGROUP_STREAM) ? \
			  PERF_METAGROUP_FEATURE_STREAM : 0) | \
			 (IS_ENABLED(CONFIG_PERF_METAGROUP_SET) ? \
			  PERF_METAGROUP_FEATURE_SET | PERF_METAGROUP_FEATURE_NAME : 0))

static long mg_ioctl_info(struct mg_handle *handle, void __user *uarg)
{
	struct perf_metagroup_info arg;
	struct mg_group_info info;
	int err;

	err = mg_copy_in(&arg, sizeof(arg),
			 PERF_METAGROUP_INFO_SIZE_VER1, uarg);
	if (err)
		return err;
	if (arg.flags)
		return -EINVAL;

	err = mg_group_info(handle->group, &info);
	if (err)
		return err;

	arg = (struct perf_metagroup_info){
		.size = arg.size,
		.abi = PERF_METAGROUP_ABI,
		.format = READ_ONCE(handle->format),
		.features = MG_FEATURES,
		.max_members = MG_MAX_MEMBERS,
		.max_per_cpu = MG_MAX_PER_CPU,
		.max_snapshot = MG_MAX_SNAPSHOT,
		.members = info.members,
		.cpus = info.cpus,
		.raw_size = info.raw_size,
		.framed_size = info.framed_size,
		.map_size = info.map_size,
		.mode = info.mode,
		.max_events_per_cpu = MG_MAX_EVENTS_PER_CPU,
	};
	return mg_copy_out(uarg, &arg, sizeof(arg));
}

static int mg_copy_out_attach(const struct mg_attach *attach,
			      struct perf_metagroup_attach *arg, void __user *uarg)
{
	arg->first = attach->first;
	arg->failed = attach->failed;
	arg->reason = attach->reason;
	return mg_copy_out(uarg, arg, sizeof(*arg));
}

static int mg_attach(struct mg_handle *handle, struct mg_attach *attach,
		     struct perf_metagroup_attach *arg, void __user *uarg)
{
	struct mg_group *group = handle->group;
	s32 *fds;
	int err;

	if (arg->count > MG_MAX_MEMBERS)
		return -E2BIG;
	fds = vmemdup_user(u64_to_user_ptr(arg->fds), arg->count * sizeof(*fds));
	if (IS_ERR(fds))
		return PTR_ERR(fds);
	err = mg_attach_prepare(attach, fds, arg->count);
	kvfree(fds);
	if (err)
		return err;

	err = mg_group_lock(group);
	if (err)
		return err;
	err = mg_attach_reserve(attach, group);
	if (!err)
		err = mg_handle_reserve_rings(handle, attach);
	/* Before the members are visible, so that a failed copy leaves nothing to undo. */
	if (!err)
		err = mg_copy_out_attach(attach, arg, uarg);
	if (!err)
		err = mg_attach_commit(attach, group);
	if (!err)
		mg_stream_update(handle->stream);
	mg_group_unlock(group);
	return err;
}

static long mg_ioctl_attach(struct mg_handle *handle, void __user *uarg)
{
	struct perf_metagroup_attach arg;
	struct mg_attach attach = { };
	/* mg_stream_update() interrupts CPUs, and charges for them. */
	bool interrupts = mg_handle_stream(handle);
	int err;

	err = mg_copy_in(&arg, sizeof(arg),
			 PERF_METAGROUP_ATTACH_SIZE_VER1, uarg);
	if (err)
		return err;
	if (arg.flags || !arg.count)
		return -EINVAL;
	err = interrupts ? mg_handle_wait(handle) : 0;
	if (err)
		return err;

	attach.failed = arg.count;
	err = mg_attach(handle, &attach, &arg, uarg);
	if (err && mg_copy_out_attach(&attach, &arg, uarg))
		err = -EFAULT;
	mg_attach_end(&attach);
	if (interrupts)
		mg_limit_settle(handle->limit, 0);
	return err;
}

static long mg_ioctl_detach(struct mg_handle *handle, void __user *uarg)
{
	struct perf_metagroup_detach arg;
	int err;

	err = mg_copy_in(&arg, sizeof(arg),
			 PERF_METAGROUP_DETACH_SIZE_VER1, uarg);
	if (err)
		return err;
	if (arg.flags || arg.reserved)
		return -EINVAL;
	err = mg_handle_wait(handle);
	if (err)
		return err;
	err = mg_detach(handle->group, arg.member);
	mg_limit_settle(handle->limit, 0);
	return err;
}

static long mg_ioctl_set_format(struct mg_handle *handle, void __user *uarg)
{
	struct perf_metagroup_format arg;
	int err;

	err = mg_copy_in(&arg, sizeof(arg),
			 PERF_METAGROUP_FORMAT_SIZE_VER1, uarg);
	if (err)
		return err;
	if (arg.flags || arg.reserved ||
	    arg.format > PERF_METAGROUP_FORMAT_FRAMED)
		return -EINVAL;

	WRITE_ONCE(handle->format, arg.format);
	return 0;
}

static long mg_ioctl_get_member(struct mg_handle *handle, void __user *uarg)
{
	struct perf_metagroup_member arg;
	struct mg_event_info info;
	u64 *ids = NULL;
	u32 max_ids;
	int err;

	err = mg_copy_in(&arg, sizeof(arg),
			 PERF_METAGROUP_MEMBER_SIZE_VER1, uarg);
	if (err)
		return err;
	if (arg.flags)
		return -EINVAL;

	max_ids = arg.ids ? min_t(u32, arg.max_ids, MG_MAX_PAYLOAD / sizeof(*ids)) : 0;
	if (max_ids) {
		ids = kvcalloc(max_ids, sizeof(*ids), GFP_KERNEL_ACCOUNT);
		if (!ids)
			return -ENOMEM;
	}

	err = mg_group_member(handle->group, arg.member, &info, ids, max_ids);
	if (err)
		goto free;

	arg.cpu = info.cpu;
	arg.status = info.status;
	arg.events = info.nr_events;
	arg.read_format = info.read_format;
	arg.payload = info.payload;
	arg.generation = info.generation;
	arg.error = info.error;
	arg.failed = info.failed;
	arg.reason = info.reason;
	arg.users = info.users;
	arg.reserved = 0;
	err = mg_copy_out(uarg, &arg, sizeof(arg));
	if (!err && max_ids &&
	    copy_to_user(u64_to_user_ptr(arg.ids), ids,
			 min(max_ids, info.nr_events) * sizeof(*ids)))
		err = -EFAULT;
free:
	kvfree(ids);
	return err;
}

#define MG_MODES	(PERF_METAGROUP_MODE_SKIP_ISOLATED | \
			 (IS_ENABLED(CONFIG_PERF_METAGROUP_QUIET) ? \
			  PERF_METAGROUP_MODE_QUIET : 0))

static int mg_set_mode(struct mg_group *group, u32 mode)
{
	int err = mg_group_lock(group);

	if (err)
		return err;
	if (mode & PERF_METAGROUP_MODE_QUIET)
		err = mg_quiet_join(group);
	else
		mg_quiet_leave(group);
	if (!err)
		mg_group_set_mode(group, mode);
	mg_group_unlock(group);
	return err;
}

static long mg_ioctl_set_mode(struct mg_handle *handle, void __user *uarg)
{
	struct perf_metagroup_mode arg;
	int err;

	err = mg_copy_in(&arg, sizeof(arg), PERF_METAGROUP_MODE_SIZE_VER1, uarg);
	if (err)
		return err;
	if (arg.flags || arg.reserved ||
	    arg.mode & ~MG_MODES)
		return -EINVAL;
	return mg_set_mode(handle->group, arg.mode);
}

static long mg_ioctl_sweep(struct mg_handle *handle, void __user *uarg)
{
	struct perf_metagroup_sweep arg = { };
	struct mg_group *group = handle->group;
	struct cpumask *req_mask = NULL;
	long ret;

	/* Without a structure, sweep all CPUs and copy nothing. */
	if (uarg) {
		ret = mg_copy_in(&arg, sizeof(arg), PERF_METAGROUP_SWEEP_SIZE_VER1, uarg);
		if (ret)
			return ret;
		if (arg.flags || arg.reserved || arg.nr_words > MG_MAX_CPU_WORDS ||
		    !arg.cpus != !arg.nr_words || !arg.buffer != !arg.buffer_size)
			return -EINVAL;
		if (arg.buffer && !(handle->file->f_mode & FMODE_READ))
			return -EBADF;
	}

	ret = mg_handle_wait_and_lock(handle);
	if (ret)
		return ret;
	if (arg.cpus) {
		req_mask = group->req_mask;
		/* CPUs beyond nr_cpu_ids have no members. */
		ret = min(mg_copy_in_cpus(req_mask, u64_to_user_ptr(arg.cpus), arg.nr_words), 0);
	}
	if (!ret) {
		mg_handle_sweep(handle, req_mask);
		if (arg.buffer)
			ret = mg_copy_snapshot(group, READ_ONCE(handle->format), req_mask,
					       u64_to_user_ptr(arg.buffer), arg.buffer_size);
	}
	mg_group_unlock(group);
	return ret;
}

static long mg_ioctl_control(struct mg_handle *handle, unsigned int perf_cmd,
			     unsigned long arg)
{
	u32 interrupted;
	int err;

	if (arg)
		return -EINVAL;
	err = mg_handle_wait_and_lock(handle);
	if (err)
		return err;
	err = mg_control_all(handle->group, perf_cmd, &interrupted);
	mg_group_unlock(handle->group);
	mg_limit_settle(handle->limit, interrupted);
	return err;
}

/**
 * mg_ioctl - run one command of the device
 * @handle:	the handle
 * @cmd:	PERF_METAGROUP_IOC_*
 * @arg:	address of the command's structure, or 0
 *
 * Context: Process context, may sleep and fault. Takes mg_group.mutex.
 * Return: as documented for each command in uapi/linux/perf_metagroup.h.
 */
long mg_ioctl(struct mg_handle *handle, unsigned int cmd, unsigned long arg)
{
	void __user *uarg = (void __user *)arg;

	switch (cmd) {
	case PERF_METAGROUP_IOC_INFO:
		return mg_ioctl_info(handle, uarg);
	case PERF_METAGROUP_IOC_ATTACH:
		return mg_ioctl_attach(handle, uarg);
	case PERF_METAGROUP_IOC_DETACH:
		return mg_ioctl_detach(handle, uarg);
	case PERF_METAGROUP_IOC_SET_FORMAT:
		return mg_ioctl_set_format(handle, uarg);
	case PERF_METAGROUP_IOC_GET_MEMBER:
		return mg_ioctl_get_member(handle, uarg);
	case PERF_METAGROUP_IOC_SET_MODE:
		return mg_ioctl_set_mode(handle, uarg);
	case PERF_METAGROUP_IOC_SWEEP:
		return mg_ioctl_sweep(handle, uarg);
#if IS_ENABLED(CONFIG_PERF_METAGROUP_STREAM)
	case PERF_METAGROUP_IOC_STREAM:
		return mg_ioctl_stream(handle, uarg);
#endif
#if IS_ENABLED(CONFIG_PERF_METAGROUP_SET)
	case PERF_METAGROUP_IOC_OPEN_SET:
		return mg_ioctl_open_set(handle, uarg);
	case PERF_METAGROUP_IOC_CONTROL:
		return mg_ioctl_control_sets(handle, uarg);
	case PERF_METAGROUP_IOC_SET_EVENTS:
		return mg_ioctl_set_events(handle, uarg);
	case PERF_METAGROUP_IOC_GET_EVENTS:
		return mg_ioctl_get_events(handle, uarg);
	case PERF_METAGROUP_IOC_PUBLISH:
		return mg_ioctl_publish(handle, uarg);
	case PERF_METAGROUP_IOC_JOIN:
		return mg_ioctl_join(handle, uarg);
	case PERF_METAGROUP_IOC_UNPUBLISH:
		return mg_ioctl_unpublish(uarg);
#endif
	case PERF_METAGROUP_IOC_ENABLE:
		return mg_ioctl_control(handle, PERF_EVENT_IOC_ENABLE, arg);
	case PERF_METAGROUP_IOC_DISABLE:
		return mg_ioctl_control(handle, PERF_EVENT_IOC_DISABLE, arg);
	case PERF_METAGROUP_IOC_RESET:
		return mg_ioctl_control(handle, PERF_EVENT_IOC_RESET, arg);
	default:
		return -ENOTTY;
	}
}
