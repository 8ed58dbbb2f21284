/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences of <linux/hrtimer.h> and <linux/timer.h> between Linux 5.10 and 7.3.
 */
#ifndef MG_COMPAT_TIMER_H
#define MG_COMPAT_TIMER_H

#include <linux/hrtimer.h>
#include <linux/timer.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *timer),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define timer_delete_sync(timer)	del_timer_sync(timer)
#endif

#endif /* MG_COMPAT_TIMER_H */
