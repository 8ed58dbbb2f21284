// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file operations of /dev/perf_metagroup, as specified in
 * uapi/linux/perf_metagroup.h.
 */
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/perf_metagroup.h>
#include <linux/poll.h>
#include <linux/seq_file.h>

#include "core/group.h"
#include "device/chardev.h"
#include "device/copy.h"
#include "device/handle.h"
#include "device/ioctl.h"
#include "stream/stream.h"

static int mg_chardev_open(struct inode *inode, struct file *file)
{
	struct mg_handle *handle = mg_handle_create(file);

	if (IS_ERR(handle))
		return PTR_ERR(handle);
	file->private_data = handle;
	return nonseekable_open(inode, file);
}

static int mg_chardev_release(struct inode *inode, struct file *file)
{
	mg_handle_destroy(file->private_data);
	return 0;
}

static ssize_t mg_chardev_read(struct file *file, char __user *buf, size_t count,
			       loff_t *ppos)
{
	struct mg_handle *handle = file->private_data;
	struct mg_group *group = handle->group;
	ssize_t ret;

	ret = mg_handle_wait_and_lock(handle);
	if (ret)
		return ret;
	mg_handle_sweep(handle, NULL);
	ret = mg_copy_snapshot(group, READ_ONCE(handle->format), NULL, buf, count);
	mg_group_unlock(group);
	return ret;
}

static int mg_chardev_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct mg_handle *handle = file->private_data;

	if (vma->vm_pgoff >= PERF_METAGROUP_RINGS >> PAGE_SHIFT)
		return mg_stream_mmap(mg_handle_stream(handle), vma);
	return mg_snapshot_mmap(&handle->group->frames.snapshot, vma);
}

/* Without a stream, behave as if there were no poll(): a read() never waits for data. */
static __poll_t mg_chardev_poll(struct file *file, poll_table *wait)
{
	struct mg_handle *handle = file->private_data;
	struct mg_stream *stream;

	poll_wait(file, &handle->wait, wait);
	stream = mg_handle_stream(handle);
	return stream ? mg_stream_poll(stream) : DEFAULT_POLLMASK;
}

static long mg_chardev_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return mg_ioctl(file->private_data, cmd, arg);
}

#ifdef CONFIG_PROC_FS
static const char * const mg_mode_names[] = {
	[0] = "normal",
	[PERF_METAGROUP_MODE_QUIET] = "quiet",
	[PERF_METAGROUP_MODE_SKIP_ISOLATED] = "skip-isolated",
	[PERF_METAGROUP_MODE_QUIET | PERF_METAGROUP_MODE_SKIP_ISOLATED] =
		"quiet skip-isolated",
};

static void mg_chardev_show_stream(struct seq_file *seq, const struct mg_stream *stream)
{
	struct mg_stream_stats stats;

	mg_stream_stats(stream, &stats);
	seq_printf(seq, "stream_period_ns:\t%llu\n",
		   stream->cpus.running ? stream->cpus.period : 0);
	seq_printf(seq, "stream_deadlines:\t%llu\n", stats.deadlines);
	seq_printf(seq, "stream_lost:\t%llu\n", stats.lost);
	seq_printf(seq, "stream_throttled:\t%llu\n", stats.throttled);
	seq_printf(seq, "stream_idle_wakeups:\t%llu\n", stats.idle_stops);
}

static void mg_chardev_show_fdinfo(struct seq_file *seq, struct file *file)
{
	struct mg_handle *handle = file->private_data;
	struct mg_group *group = handle->group;
	const struct mg_stats *stats = &group->stats;
	struct mg_event_info info;
	u32 i;

	/*
	 * Interruptible: a reader may be blocked in a page fault while it holds the
	 * mutex.
	 */
	if (mg_group_lock(group))
		return;

	seq_printf(seq, "format:\t%s\n",
		   READ_ONCE(handle->format) ? "framed" : "raw");
	seq_printf(seq, "mode:\t%s\n", mg_mode_names[group->mode]);
	seq_printf(seq, "sweeps:\t%llu\n", stats->sweeps);
	seq_printf(seq, "sweep_last_ns:\t%llu\n", stats->last);
	seq_printf(seq, "sweep_max_ns:\t%llu\n", stats->max);
	seq_printf(seq, "sweep_total_ns:\t%llu\n", stats->total);
	if (handle->stream)
		mg_chardev_show_stream(seq, handle->stream);
	seq_printf(seq, "members:\t%u\n", group->frames.nr_members);
	for (i = 0; i < group->frames.nr_members; i++) {
		struct mg_member *member = group->frames.members[i];

		if (mg_member_describe(member, &info, NULL, 0))
			continue;
		seq_printf(seq, "member:\t%u cpu %d events %u status %s\n",
			   member->id, info.cpu, info.nr_events,
			   mg_status_name(info.status));
	}
	mg_group_unlock(group);
}
#endif

const struct file_operations mg_chardev_fops = {
	.owner = THIS_MODULE,
	.open = mg_chardev_open,
	.release = mg_chardev_release,
	.read = mg_chardev_read,
	.mmap = mg_chardev_mmap,
	.poll = mg_chardev_poll,
	.unlocked_ioctl = mg_chardev_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
#ifdef CONFIG_PROC_FS
	.show_fdinfo = mg_chardev_show_fdinfo,
#endif
};
