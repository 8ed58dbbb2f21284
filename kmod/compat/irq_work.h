/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences of <linux/irq_work.h> between Linux 5.10 and 7.3.
 */
#ifndef MG_COMPAT_IRQ_WORK_H
#define MG_COMPAT_IRQ_WORK_H

#include <linux/irq_work.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 11, 0)
#define IRQ_WORK_INIT_HARD(function) \
	((struct irq_work){ .flags = ATOMIC_INIT(IRQ_WORK_HARD_IRQ), .func = (function) })
#endif

#endif /* MG_COMPAT_IRQ_WORK_H */
