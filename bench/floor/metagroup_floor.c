// SPDX-License-Identifier: GPL-2.0-only
/*
 * The floor under all that interrupts CPUs to read them: a broadcast and a timer that
 * do nothing. For benchmarks.
 */
#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/math64.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/smp.h>

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

struct floor {
	struct mutex lock;	/* for starting and stopping the timers */
	struct cpumask *cpus;
	struct floor_timer __percpu *timers;
};

static enum hrtimer_restart floor_expire(struct hrtimer *timer)
{
	struct floor_timer *this = container_of(timer, struct floor_timer, timer);

	this->expiries++;
	hrtimer_forward_now(timer, ns_to_ktime(this->period));
	return HRTIMER_RESTART;
}

static void floor_start(void *data)
{
	struct floor_timer *this = this_cpu_ptr(((struct floor *)data)->timers);
	u64 first = (div64_u64(ktime_get_ns(), this->period) + 1) * this->period;

	hrtimer_start(&this->timer, ns_to_ktime(first), HRTIMER_MODE_ABS_PINNED_HARD);
}

/* On the CPU itself, so that its next interrupt is not that of this timer. */
static void floor_stop(void *data)
{
	hrtimer_try_to_cancel(&this_cpu_ptr(((struct floor *)data)->timers)->timer);
}

static void floor_set_period(struct floor *floor, u64 period)
{
	int cpu;

	mutex_lock(&floor->lock);
	on_each_cpu(floor_stop, floor, true);
	for_each_possible_cpu(cpu) {
		struct floor_timer *this = per_cpu_ptr(floor->timers, cpu);

		hrtimer_cancel(&this->timer);
		this->period = period;
	}
	if (period)
		on_each_cpu_mask(floor->cpus, floor_start, floor, true);
	mutex_unlock(&floor->lock);
}

static long floor_expiries(struct floor *floor)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(floor->timers, cpu)->expiries);
	return sum & INT_MAX;
}

static void floor_free(struct floor *floor)
{
	free_percpu(floor->timers);
	kfree(floor->cpus);
	kfree(floor);
}

static int floor_open(struct inode *inode, struct file *file)
{
	struct floor *floor = kzalloc(sizeof(*floor), GFP_KERNEL);
	int cpu;

	if (!floor)
		return -ENOMEM;
	mutex_init(&floor->lock);
	floor->cpus = kzalloc(cpumask_size(), GFP_KERNEL);
	floor->timers = alloc_percpu(struct floor_timer);
	if (!floor->cpus || !floor->timers) {
		floor_free(floor);
		return -ENOMEM;
	}
	for_each_possible_cpu(cpu)
		hrtimer_setup(&per_cpu_ptr(floor->timers, cpu)->timer, floor_expire,
			      CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	file->private_data = floor;
	return 0;
}

static int floor_release(struct inode *inode, struct file *file)
{
	floor_set_period(file->private_data, 0);
	floor_free(file->private_data);
	return 0;
}

static ssize_t floor_write(struct file *file, const char __user *text, size_t len,
			   loff_t *pos)
{
	struct floor *floor = file->private_data;
	int err = cpumask_parselist_user(text, len, floor->cpus);

	return err ? err : len;
}

static void floor_nothing(void *unused)
{
}

static long floor_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct floor *floor = file->private_data;

	switch (cmd) {
	case METAGROUP_FLOOR_IOC_BROADCAST:
		on_each_cpu_mask(floor->cpus, floor_nothing, NULL, true);
		return 0;
	case METAGROUP_FLOOR_IOC_TIMERS:
		if (arg && arg < METAGROUP_FLOOR_MIN_PERIOD)
			return -EINVAL;
		floor_set_period(floor, arg);
		return 0;
	case METAGROUP_FLOOR_IOC_EXPIRIES:
		return floor_expiries(floor);
	default:
		return -ENOTTY;
	}
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

MODULE_DESCRIPTION("An empty broadcast and empty timers, for the benchmarks of perf meta-groups");
MODULE_AUTHOR("The perf meta-groups authors");
MODULE_LICENSE("GPL");
