// SPDX-License-Identifier: GPL-2.0-only
/*
 * The floor under every sweep: a broadcast that does nothing. For benchmarks.
 */
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "metagroup_floor.h"

static int floor_open(struct inode *inode, struct file *file)
{
	struct cpumask *cpus = kzalloc(cpumask_size(), GFP_KERNEL);

	if (!cpus)
		return -ENOMEM;
	file->private_data = cpus;
	return 0;
}

static int floor_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

static ssize_t floor_write(struct file *file, const char __user *text, size_t len,
			   loff_t *pos)
{
	int err = cpumask_parselist_user(text, len, file->private_data);

	return err ? err : len;
}

static void floor_nothing(void *unused)
{
}

static long floor_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	if (cmd != METAGROUP_FLOOR_IOC_BROADCAST)
		return -ENOTTY;
	on_each_cpu_mask(file->private_data, floor_nothing, NULL, true);
	return 0;
}

static const struct file_operations floor_fops = {
	.owner = THIS_MODULE,
	.open = floor_open,
	.release = floor_release,
	.write = floor_write,
	.unlocked_ioctl = floor_ioctl,
};

static struct miscdevice floor_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "metagroup_floor",
	.fops = &floor_fops,
	.mode = 0600,
};
module_misc_device(floor_device);

MODULE_DESCRIPTION("An empty broadcast, for the benchmarks of perf meta-groups");
MODULE_AUTHOR("The perf meta-groups authors");
MODULE_LICENSE("GPL");
