// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arguments of ioctls in and out; what is done with them is done elsewhere.
 */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/perf_metagroup.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "group.h"
#include "handle.h"
#include "sweep.h"

#define MG_MAX_CPU_WORDS	1024	/* 64 CPUs each */

/*
 * Extensible structures: the first field is the caller's size, which is not
 * below @min, that of the first version, nor absurd.
 */
static int mg_copy_in(void *arg, size_t size, size_t min, void __user *uarg)
{
	u32 usize;
	int err;

	if (get_user(usize, (u32 __user *)uarg))
		return -EFAULT;
	if (usize < min)
		return -EINVAL;
	if (usize > PAGE_SIZE)
		return -E2BIG;

	err = copy_struct_from_user(arg, size, uarg, usize);
	if (err)
		return err;

	/* The user may have changed it since. */
	*(u32 *)arg = usize;
	return 0;
}

static int mg_copy_out(void __user *uarg, const void *arg, size_t size)
{
	size = min_t(size_t, size, *(const u32 *)arg);
	return copy_to_user(uarg, arg, size) ? -EFAULT : 0;
}

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
		.features = PERF_METAGROUP_FEATURE_FRAMED |
			    PERF_METAGROUP_FEATURE_SWEEP |
			    PERF_METAGROUP_FEATURE_MAP |
			    PERF_METAGROUP_FEATURE_QUIET |
			    PERF_METAGROUP_FEATURE_SPARE_ISOLATED,
		.max_members = MG_MAX_MEMBERS,
		.max_per_cpu = MG_MAX_PER_CPU,
		.max_snapshot = MG_MAX_SNAPSHOT,
		.members = info.members,
		.cpus = info.cpus,
		.raw_size = info.raw_size,
		.framed_size = info.framed_size,
		.mode = info.mode,
	};
	return mg_copy_out(uarg, &arg, sizeof(arg));
}

static long mg_ioctl_attach(struct mg_handle *handle, void __user *uarg)
{
	struct perf_metagroup_attach arg;
	int err, err_out;
	s32 *fds;

	err = mg_copy_in(&arg, sizeof(arg),
			 PERF_METAGROUP_ATTACH_SIZE_VER1, uarg);
	if (err)
		return err;
	if (arg.flags || !arg.count)
		return -EINVAL;

	/* Tried before anything is attached, so that a bad pointer undoes nothing. */
	arg.first = 0;
	arg.failed = arg.count;
	arg.reason = PERF_METAGROUP_REASON_NONE;
	err = mg_copy_out(uarg, &arg, sizeof(arg));
	if (err)
		return err;

	if (arg.count > MG_MAX_MEMBERS)
		return -E2BIG;
	fds = vmemdup_user(u64_to_user_ptr(arg.fds), arg.count * sizeof(*fds));
	if (IS_ERR(fds))
		return PTR_ERR(fds);

	err = mg_group_attach(handle->group, fds, arg.count,
			      &arg.first, &arg.failed, &arg.reason);
	kvfree(fds);

	err_out = mg_copy_out(uarg, &arg, sizeof(arg));
	if (!err && err_out)
		mg_group_detach_new(handle->group, arg.first, arg.count);
	return err ?: err_out;
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
	return mg_group_detach(handle->group, arg.member);
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

	max_ids = min_t(u32, arg.max_ids, MG_MAX_PAYLOAD / sizeof(*ids));
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
	err = mg_copy_out(uarg, &arg, sizeof(arg));
	if (!err && max_ids &&
	    copy_to_user(u64_to_user_ptr(arg.ids), ids,
			 min(max_ids, info.nr_events) * sizeof(*ids)))
		err = -EFAULT;
free:
	kvfree(ids);
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
	    arg.mode & ~(PERF_METAGROUP_MODE_QUIET | PERF_METAGROUP_MODE_SPARE_ISOLATED))
		return -EINVAL;
	return mg_group_set_mode(handle->group, arg.mode);
}

/* CPUs beyond those of this machine have no members. */
static int mg_copy_cpus(struct cpumask *cpus, const u64 __user *uwords, u32 count)
{
	u32 base, i;
	u64 word;

	cpumask_clear(cpus);
	for (i = 0; i < count; i++) {
		if (get_user(word, uwords + i))
			return -EFAULT;
		base = i * BITS_PER_TYPE(word);
		for (; word && base < nr_cpu_ids; word &= word - 1)
			if (base + __ffs64(word) < nr_cpu_ids)
				__cpumask_set_cpu(base + __ffs64(word), cpus);
	}
	return 0;
}

static long mg_ioctl_sweep(struct mg_handle *handle, void __user *uarg)
{
	struct perf_metagroup_sweep arg = { };
	struct mg_group *group = handle->group;
	struct cpumask *asked = NULL;
	long ret;

	/* Nothing to say: all CPUs, no copy. */
	if (uarg) {
		ret = mg_copy_in(&arg, sizeof(arg), PERF_METAGROUP_SWEEP_SIZE_VER1, uarg);
		if (ret)
			return ret;
		if (arg.flags || arg.reserved || arg.nr_words > MG_MAX_CPU_WORDS ||
		    !arg.cpus != !arg.nr_words || !arg.buffer != !arg.buffer_size)
			return -EINVAL;
		if (arg.buffer && !handle->readable)
			return -EBADF;
	}

	ret = mg_group_lock(group);
	if (ret)
		return ret;
	if (arg.cpus) {
		asked = group->asked;
		ret = mg_copy_cpus(asked, u64_to_user_ptr(arg.cpus), arg.nr_words);
	}
	if (!ret)
		ret = mg_sweep(group, asked);
	if (!ret && arg.buffer)
		ret = mg_handle_copy(handle, asked, u64_to_user_ptr(arg.buffer),
				     arg.buffer_size);
	mg_group_unlock(group);
	return ret;
}

static long mg_ioctl_control(struct mg_handle *handle, unsigned int perf_cmd,
			     unsigned long arg)
{
	return arg ? -EINVAL : mg_group_control(handle->group, perf_cmd);
}

long mg_handle_ioctl(struct mg_handle *handle, unsigned int cmd, unsigned long arg)
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
