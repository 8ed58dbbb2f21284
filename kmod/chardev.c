// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file operations of /dev/perf_metagroup. What they do is specified in
 * uapi/linux/perf_metagroup.h.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/perf_metagroup.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "chardev.h"
#include "group.h"
#include "handle.h"
#include "sweep.h"

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
	handle->readable = file->f_mode & FMODE_READ;
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

static ssize_t mg_read(struct file *file, char __user *buf, size_t count,
		       loff_t *ppos)
{
	struct mg_handle *handle = file->private_data;
	ssize_t ret;

	ret = mg_group_lock(handle->group);
	if (ret)
		return ret;
	ret = mg_sweep(handle->group, NULL);
	if (!ret)
		ret = mg_handle_copy(handle, NULL, buf, count);
	mg_group_unlock(handle->group);
	return ret;
}

static int mg_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct mg_handle *handle = file->private_data;

	return mg_snapshot_map(&handle->group->snapshot, vma);
}

static long mg_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return mg_handle_ioctl(file->private_data, cmd, arg);
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

static const char * const mg_mode_names[] = {
	[0] = "normal",
	[PERF_METAGROUP_MODE_QUIET] = "quiet",
	[PERF_METAGROUP_MODE_SPARE_ISOLATED] = "spare-isolated",
	[PERF_METAGROUP_MODE_QUIET | PERF_METAGROUP_MODE_SPARE_ISOLATED] =
		"quiet spare-isolated",
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
	seq_printf(seq, "mode:\t%s\n", mg_mode_names[group->mode]);
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
	.mmap = mg_mmap,
	.unlocked_ioctl = mg_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
#ifdef CONFIG_PROC_FS
	.show_fdinfo = mg_show_fdinfo,
#endif
};
