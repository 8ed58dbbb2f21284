// SPDX-License-Identifier: GPL-2.0-only
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/rcupdate.h>

#include "core/limit.h"
#include "device/chardev.h"
#include "quiet/idle.h"
#include "set/follow.h"
#include "set/name_device.h"
#include "set/perf_kernel.h"
#include "set/shared.h"
#include "stream/stream.h"
#include "stream/throttle.h"

static struct miscdevice mg_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "perf_metagroup",
	.fops = &mg_chardev_fops,
	.mode = 0600,
};

static int __init mg_init(void)
{
	int err;

	mg_shared_init();
	mg_throttle_init();
	err = mg_kernel_init();
	if (err)
		return err;
	err = mg_stream_init();
	if (err)
		goto kernel_exit;
	err = mg_follow_init();
	if (err)
		goto stream_exit;
	err = mg_name_device_init();
	if (err)
		goto follow_exit;
	err = misc_register(&mg_device);
	if (err)
		goto name_exit;
	return 0;

name_exit:
	mg_name_device_exit();
follow_exit:
	mg_follow_exit();
stream_exit:
	mg_stream_exit();
kernel_exit:
	mg_kernel_exit();
	return err;
}
module_init(mg_init);

static void __exit mg_exit(void)
{
	misc_deregister(&mg_device);
	mg_name_device_exit();
	mg_follow_exit();
	mg_stream_exit();
	mg_idle_exit();
	/* A sweep waits for mg_cpu.done, not until mg_cpu_read() has returned. */
	synchronize_rcu();
	mg_limit_exit();
	mg_kernel_exit();
}
module_exit(mg_exit);

MODULE_DESCRIPTION("Perf meta-groups: the counters of many CPUs with one read()");
MODULE_AUTHOR("The perf meta-groups authors");
MODULE_VERSION(PERF_METAGROUP_VERSION);
MODULE_LICENSE("GPL");
