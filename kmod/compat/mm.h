/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences of <linux/mm.h> and <linux/gfp.h> between Linux 5.10 and 7.3.
 */
#ifndef MG_COMPAT_MM_H
#define MG_COMPAT_MM_H

#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/version.h>

/* Before 5.11 an accounted page has a page type, and such pages cannot be mapped. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 11, 0)
#define MG_GFP_MAPPED	GFP_KERNEL_ACCOUNT
#else
#define MG_GFP_MAPPED	GFP_KERNEL
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_mod(struct vm_area_struct *vma,
				unsigned long set, unsigned long clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

#endif /* MG_COMPAT_MM_H */
