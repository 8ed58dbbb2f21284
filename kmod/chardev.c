// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file operations of /dev/perf_metagroup, and the only place that touches
 * user memory. uapi/linux/perf_metagroup.h specifies all of it.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/perf_metagroup.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "chardev.h"
#include "event.h"
#include "group.h"
#include "sweep.h"

/* One open file. It refers to a meta-group and does not own it. */
struct mg_handle {
	struct mg_group *group;	/* a reference */
	u32 format;		/* one word, READ_ONCE() and WRITE_ONCE() */
};

static int mg_open(struct inode *inode, struct file *file)
{
	struct mg_handle *handle;

	handle = kzalloc(sizeof(*handle), GFP_KERNEL_ACCOUNT);
	if (!handle)
		return -ENOMEM;

	handle->group = mg_group_create();
	if (IS_ERR(handle->group)) {
		int err = PTR_ERR(handle->group);

		kfree(handle);
		return err;
	}
	handle->format = PERF_METAGROUP_FORMAT_RAW;
	file->private_data = handle;
	return nonseekable_open(inode, file);
}

static int mg_release(struct inode *inode, struct file *file)
{
	struct mg_handle *handle = file->private_data;

	mg_group_put(handle->group);
	kfree(handle);
	return 0;
}

/* Only the payloads, straight from the descriptors. */
static ssize_t mg_copy_raw(const struct mg_group *group, char __user *buf,
			   size_t count)
{
	const struct perf_metagroup_record *record;
	size_t total = 0;
	u32 i;
	int err;

	err = mg_sweep_error(group);
	if (err)
		return err;

	for (i = 0; i < group->nr_members; i++)
		total += group->members[i]->record->size;
	if (total > count)
		return -ENOSPC;
	if (!total)
		return 0;

	if (!user_access_begin(buf, total))
		return -EFAULT;
	for (i = 0; i < group->nr_members; i++) {
		record = group->members[i]->record;
		unsafe_copy_to_user(buf, (const char *)(record + 1),
				    record->size, fault);
		buf += record->size;
	}
	user_access_end();
	return total;

fault:
	user_access_end();
	return -EFAULT;
}

static ssize_t mg_read(struct file *file, char __user *buf, size_t count,
		       loff_t *ppos)
{
	struct mg_handle *handle = file->private_data;
	bool framed = READ_ONCE(handle->format) == PERF_METAGROUP_FORMAT_FRAMED;
	struct mg_group *group = handle->group;
	ssize_t ret;
	size_t size;

	ret = mg_group_lock(group);
	if (ret)
		return ret;

	ret = mg_sweep(group);
	if (ret)
		goto unlock;

	if (framed) {
		size = mg_snapshot_size(&group->snapshot, group->nr_members);
		if (size > count)
			ret = -ENOSPC;
		else if (copy_to_user(buf, group->snapshot.head, size))
			ret = -EFAULT;
		else
			ret = size;
	} else {
		ret = mg_copy_raw(group, buf, count);
	}
unlock:
	mg_group_unlock(group);
	return ret;
}

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
		.features = PERF_METAGROUP_FEATURE_FRAMED,
		.max_members = MG_MAX_MEMBERS,
		.max_per_cpu = MG_MAX_PER_CPU,
		.max_snapshot = MG_MAX_SNAPSHOT,
		.members = info.members,
		.cpus = info.cpus,
		.raw_size = info.raw_size,
		.framed_size = info.framed_size,
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

static long mg_ioctl_control(struct mg_handle *handle, unsigned int perf_cmd,
			     unsigned long arg)
{
	return arg ? -EINVAL : mg_group_control(handle->group, perf_cmd);
}

static long mg_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct mg_handle *handle = file->private_data;
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

#ifdef CONFIG_PROC_FS
static const char * const mg_status_names[] = {
	[PERF_METAGROUP_OK] = "ok",
	[PERF_METAGROUP_INACTIVE] = "inactive",
	[PERF_METAGROUP_OFF] = "off",
	[PERF_METAGROUP_ERROR] = "error",
	[PERF_METAGROUP_OFFLINE] = "offline",
	[PERF_METAGROUP_REVOKED] = "revoked",
};

static void mg_show_fdinfo(struct seq_file *seq, struct file *file)
{
	struct mg_handle *handle = file->private_data;
	struct mg_group *group = handle->group;
	const struct mg_stats *stats = &group->stats;
	struct mg_event_info info;
	u32 i;

	/* A reader that is stopped in a page fault must not stop this one too. */
	if (mg_group_lock(group))
		return;

	seq_printf(seq, "format:\t%s\n",
		   READ_ONCE(handle->format) ? "framed" : "raw");
	seq_printf(seq, "sweeps:\t%llu\n", stats->sweeps);
	seq_printf(seq, "sweep_last_ns:\t%llu\n", stats->last);
	seq_printf(seq, "sweep_max_ns:\t%llu\n", stats->max);
	seq_printf(seq, "sweep_total_ns:\t%llu\n", stats->total);
	seq_printf(seq, "members:\t%u\n", group->nr_members);
	for (i = 0; i < group->nr_members; i++) {
		struct mg_member *member = group->members[i];

		if (mg_member_describe(member, &info, NULL, 0))
			continue;
		seq_printf(seq, "member:\t%u cpu %d events %u status %s\n",
			   member->id, info.cpu, info.nr_events,
			   mg_status_names[info.status]);
	}
	mg_group_unlock(group);
}
#endif

const struct file_operations mg_chardev_fops = {
	.owner = THIS_MODULE,
	.open = mg_open,
	.release = mg_release,
	.read = mg_read,
	.unlocked_ioctl = mg_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
#ifdef CONFIG_PROC_FS
	.show_fdinfo = mg_show_fdinfo,
#endif
};
