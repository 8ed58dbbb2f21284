/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences of <linux/workqueue.h> between Linux 5.10 and 7.3.
 */
#ifndef MG_COMPAT_WORKQUEUE_H
#define MG_COMPAT_WORKQUEUE_H

#include <linux/version.h>
#include <linux/workqueue.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define system_dfl_wq	system_unbound_wq
#endif

#endif /* MG_COMPAT_WORKQUEUE_H */
