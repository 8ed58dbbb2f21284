// SPDX-License-Identifier: GPL-2.0-only
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/rcupdate.h>

#include "core/limit.h"
#include "device/chardev.h"
#include "quiet/idle.h"
#include "set/init.h"
#include "stream/stream.h"

static struct miscdevice mg_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "perf_metagroup",
	.fops = &mg_chardev_fops,
	.mode = 0600,
};

static int __init mg_init(void)
{
	int err;

	err = mg_set_init();
	if (err)
		return err;
	err = mg_stream_init();
	if (err)
		goto set_exit;
	err = misc_register(&mg_device);
	if (err)
		goto stream_exit;
	return 0;

stream_exit:
	mg_stream_exit();
set_exit:
	mg_set_exit();
	return err;
}
module_init(mg_init);

static void __exit mg_exit(void)
{
	misc_deregister(&mg_device);
	mg_stream_exit();
	mg_set_exit();
	mg_idle_exit();
	/* A sweep waits for mg_cpu.done, but not for mg_cpu_read() to return. */
	synchronize_rcu();
	mg_limit_exit();
}
module_exit(mg_exit);

MODULE_DESCRIPTION("Perf meta-groups: read the counters of many CPUs with one read()");
MODULE_AUTHOR("The perf meta-groups authors");
MODULE_VERSION(PERF_METAGROUP_VERSION);
MODULE_LICENSE("GPL");
