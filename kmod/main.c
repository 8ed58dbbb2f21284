// SPDX-License-Identifier: GPL-2.0-only
#include <linux/miscdevice.h>
#include <linux/module.h>

#include "chardev.h"

static struct miscdevice mg_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "perf_metagroup",
	.fops = &mg_chardev_fops,
	.mode = 0600,
};

module_misc_device(mg_device);

MODULE_DESCRIPTION("Perf meta-groups: the counters of many CPUs with one read()");
MODULE_AUTHOR("The perf meta-groups authors");
MODULE_VERSION(PERF_METAGROUP_VERSION);
MODULE_LICENSE("GPL");
