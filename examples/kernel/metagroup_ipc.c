// SPDX-License-Identifier: GPL-2.0-only
/* Reports instructions and cycles of each CPU once a second with a tracepoint:
 *
 *   echo 1 >/sys/kernel/tracing/events/metagroup_ipc/enable
 *   cat /sys/kernel/tracing/trace_pipe
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/perf_metagroup.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#define CREATE_TRACE_POINTS
#include "metagroup_ipc_trace.h"

static uint type = PERF_TYPE_HARDWARE;
module_param(type, uint, 0444);
MODULE_PARM_DESC(type, "perf_event_attr.type of both events (0, hardware)");

static ulong instructions = PERF_COUNT_HW_INSTRUCTIONS;
module_param(instructions, ulong, 0444);
MODULE_PARM_DESC(instructions, "perf_event_attr.config of the first event");

static ulong cycles = PERF_COUNT_HW_CPU_CYCLES;
module_param(cycles, ulong, 0444);
MODULE_PARM_DESC(cycles, "perf_event_attr.config of the second event");

static uint period = 1000;
module_param(period, uint, 0444);
MODULE_PARM_DESC(period, "milliseconds (1000)");

static struct perf_metagroup *metagroup;
static u64 (*last)[2];	/* by CPU */

static void ipc_trace(const struct perf_metagroup_counts *now, void *data)
{
	u64 *before = last[now->cpu];

	if (!now->counts)
		return;
	trace_metagroup_ipc(now->cpu, now->counts[0] - before[0], now->counts[1] - before[1]);
	memcpy(before, now->counts, sizeof(last[0]));
}

/* The work stays on its CPU while that is online. */
static void ipc_work(struct work_struct *work)
{
	u64 begin[2], end[2];
	int err = perf_metagroup_read_this_cpu(metagroup, begin);

	perf_metagroup_sweep(metagroup, ipc_trace, NULL);
	if (!err && !perf_metagroup_read_this_cpu(metagroup, end))
		trace_metagroup_ipc_cost(raw_smp_processor_id(), end[0] - begin[0],
					 end[1] - begin[1]);
	queue_delayed_work(system_long_wq, to_delayed_work(work), msecs_to_jiffies(period));
}

static DECLARE_DELAYED_WORK(ipc_every_period, ipc_work);

static int __init ipc_init(void)
{
	struct perf_event_attr attrs[] = {
		{ .size = sizeof(attrs[0]), .type = type, .config = instructions },
		{ .size = sizeof(attrs[0]), .type = type, .config = cycles },
	};

	last = kcalloc(nr_cpu_ids, sizeof(*last), GFP_KERNEL);
	if (!last)
		return -ENOMEM;
	metagroup = perf_metagroup_create(attrs, ARRAY_SIZE(attrs), NULL);
	if (IS_ERR(metagroup)) {
		pr_err("metagroup_ipc: cannot open the events: error %ld\n", PTR_ERR(metagroup));
		kfree(last);
		return PTR_ERR(metagroup);
	}
	queue_delayed_work(system_long_wq, &ipc_every_period, 0);
	return 0;
}
module_init(ipc_init);

static void __exit ipc_exit(void)
{
	cancel_delayed_work_sync(&ipc_every_period);
	perf_metagroup_destroy(metagroup);
	kfree(last);
}
module_exit(ipc_exit);

MODULE_DESCRIPTION("Instructions and cycles of each CPU, once a second");
MODULE_AUTHOR("The perf meta-groups authors");
MODULE_LICENSE("GPL");
