// SPDX-License-Identifier: GPL-2.0-only
/*
 * The minimum cost of interrupting CPUs to read them, with a broadcast and a timer that
 * do nothing, and of opening events in the kernel. For benchmarks.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/smp.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "metagroup_floor.h"

#ifndef HAVE_HRTIMER_SETUP
static void hrtimer_setup(struct hrtimer *timer,
			  enum hrtimer_restart (*function)(struct hrtimer *timer),
			  clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

struct floor_timer {
	struct hrtimer timer;
	u64 period;
	u64 expiries;
};

struct floor_events {
	struct work_struct work;
	struct perf_event *events[METAGROUP_FLOOR_MAX_EVENTS];
};

#define FLOOR_CPUS_AT_ONCE 4

static DEFINE_PER_CPU(struct floor_timer, floor_timers);
static DEFINE_PER_CPU(struct floor_events, floor_events);
static struct perf_event_attr floor_attrs[METAGROUP_FLOOR_MAX_EVENTS];
static u32 floor_nr_events;
static DEFINE_MUTEX(floor_lock);	/* for timers and events */
static struct cpumask floor_cpus;

static enum hrtimer_restart floor_expire(struct hrtimer *timer)
{
	struct floor_timer *this = container_of(timer, struct floor_timer, timer);

	this->expiries++;
	hrtimer_forward_now(timer, ns_to_ktime(this->period));
	return HRTIMER_RESTART;
}

static void floor_start(void *unused)
{
	struct floor_timer *this = this_cpu_ptr(&floor_timers);
	u64 first = (div64_u64(ktime_get_ns(), this->period) + 1) * this->period;

	hrtimer_start(&this->timer, ns_to_ktime(first), HRTIMER_MODE_ABS_PINNED_HARD);
}

/* On the CPU itself, so that its next interrupt does not come from this timer. */
static void floor_stop(void *unused)
{
	hrtimer_try_to_cancel(&this_cpu_ptr(&floor_timers)->timer);
}

static void floor_set_period(u64 period)
{
	int cpu;

	mutex_lock(&floor_lock);
	on_each_cpu(floor_stop, NULL, true);
	for_each_possible_cpu(cpu) {
		hrtimer_cancel(&per_cpu(floor_timers, cpu).timer);
		per_cpu(floor_timers, cpu).period = period;
	}
	if (period)
		on_each_cpu_mask(&floor_cpus, floor_start, NULL, true);
	mutex_unlock(&floor_lock);
}

static long floor_expiries(void)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu(floor_timers, cpu).expiries);
	return sum & INT_MAX;
}

static void floor_open_here(struct work_struct *work)
{
	struct floor_events *this = container_of(work, struct floor_events, work);
	u32 i;

	for (i = 0; i < floor_nr_events; i++)
		this->events[i] = perf_event_create_kernel_counter(&floor_attrs[i],
								   smp_processor_id(), NULL,
								   NULL, NULL);
}

static void floor_close_here(struct work_struct *work)
{
	struct floor_events *this = container_of(work, struct floor_events, work);
	u32 i;

	for (i = 0; i < floor_nr_events; i++)
		if (!IS_ERR_OR_NULL(this->events[i]))
			perf_event_release_kernel(this->events[i]);
}

/* On a few CPUs at a time, as they spin on a mutex of perf. floor_lock is held. */
static void floor_work(work_func_t func)
{
	int last[FLOOR_CPUS_AT_ONCE];
	u32 nr = 0;
	int cpu;

	for_each_cpu(cpu, &floor_cpus) {
		int *slot = &last[nr++ % FLOOR_CPUS_AT_ONCE];

		if (nr > FLOOR_CPUS_AT_ONCE)
			flush_work(&per_cpu(floor_events, *slot).work);
		*slot = cpu;
		INIT_WORK(&per_cpu(floor_events, cpu).work, func);
		queue_work_on(cpu, system_highpri_wq, &per_cpu(floor_events, cpu).work);
	}
	for_each_cpu(cpu, &floor_cpus)
		flush_work(&per_cpu(floor_events, cpu).work);
}

static void floor_close_events(void)
{
	mutex_lock(&floor_lock);
	if (floor_nr_events)
		floor_work(floor_close_here);
	floor_nr_events = 0;
	mutex_unlock(&floor_lock);
}

static int floor_copy_attr(struct perf_event_attr *attr, u64 address, u32 stride)
{
	*attr = (struct perf_event_attr){ };
	if (copy_from_user(attr, u64_to_user_ptr(address), min_t(size_t, stride, sizeof(*attr))))
		return -EFAULT;
	attr->size = sizeof(*attr);
	attr->pinned = 1;
	return 0;
}

static int floor_open_events(const struct metagroup_floor_events __user *user)
{
	struct metagroup_floor_events arg;
	int cpu, err = 0;
	u32 i;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (arg.nr_events > METAGROUP_FLOOR_MAX_EVENTS)
		return -EINVAL;
	floor_close_events();
	mutex_lock(&floor_lock);
	for (i = 0; i < arg.nr_events && !err; i++)
		err = floor_copy_attr(&floor_attrs[i], arg.attrs + (u64)i * arg.stride, arg.stride);
	if (!err && arg.nr_events) {
		floor_nr_events = arg.nr_events;
		floor_work(floor_open_here);
		for_each_cpu(cpu, &floor_cpus)
			for (i = 0; i < floor_nr_events && !err; i++)
				err = PTR_ERR_OR_ZERO(per_cpu(floor_events, cpu).events[i]);
	}
	mutex_unlock(&floor_lock);
	return err;
}

static int floor_release(struct inode *inode, struct file *file)
{
	floor_set_period(0);
	floor_close_events();
	return 0;
}

static ssize_t floor_write(struct file *file, const char __user *text, size_t len,
			   loff_t *pos)
{
	int err;

	floor_close_events();
	err = cpumask_parselist_user(text, len, &floor_cpus);
	return err ? err : len;
}

static void floor_nothing(void *unused)
{
}

static long floor_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case METAGROUP_FLOOR_IOC_BROADCAST:
		on_each_cpu_mask(&floor_cpus, floor_nothing, NULL, true);
		return 0;
	case METAGROUP_FLOOR_IOC_TIMERS:
		if (arg && arg < METAGROUP_FLOOR_MIN_PERIOD)
			return -EINVAL;
		floor_set_period(arg);
		return 0;
	case METAGROUP_FLOOR_IOC_EXPIRIES:
		return floor_expiries();
	case METAGROUP_FLOOR_IOC_OPEN:
		return floor_open_events((void __user *)arg);
	default:
		return -ENOTTY;
	}
}

static const struct file_operations floor_fops = {
	.owner = THIS_MODULE,
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

static int __init floor_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		hrtimer_setup(&per_cpu(floor_timers, cpu).timer, floor_expire, CLOCK_MONOTONIC,
			      HRTIMER_MODE_ABS_PINNED_HARD);
	return misc_register(&floor_device);
}
module_init(floor_init);

static void __exit floor_exit(void)
{
	misc_deregister(&floor_device);
}
module_exit(floor_exit);

MODULE_DESCRIPTION("Empty broadcasts, empty timers and bare events, for the benchmarks of perf meta-groups");
MODULE_AUTHOR("The perf meta-groups authors");
MODULE_LICENSE("GPL");
