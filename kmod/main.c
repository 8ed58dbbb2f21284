// SPDX-License-Identifier: GPL-2.0-only
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/rcupdate.h>

#include "chardev.h"

static struct miscdevice mg_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "perf_metagroup",
	.fops = &mg_chardev_fops,
	.mode = 0600,
};

static int __init mg_init(void)
{
	return misc_register(&mg_device);
}
module_init(mg_init);

static void __exit mg_exit(void)
{
	misc_deregister(&mg_device);
	/* Sweeps do not wait until mg_read_here() has returned everywhere. */
	synchronize_rcu();
}
module_exit(mg_exit);

MODULE_DESCRIPTION("Perf meta-groups: the counters of many CPUs with one read()");
MODULE_AUTHOR("The perf meta-groups authors");
MODULE_VERSION(PERF_METAGROUP_VERSION);
MODULE_LICENSE("GPL");
