/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences of <linux/sched/isolation.h> between Linux 5.10 and 7.3.
 */
#ifndef MG_COMPAT_ISOLATION_H
#define MG_COMPAT_ISOLATION_H

#include <linux/sched/isolation.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 18, 0)
#define HK_TYPE_TICK	HK_FLAG_TICK
#define HK_TYPE_DOMAIN	HK_FLAG_DOMAIN
#endif

#endif /* MG_COMPAT_ISOLATION_H */
