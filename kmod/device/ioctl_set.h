/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_IOCTL_SET_H
#define MG_IOCTL_SET_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kconfig.h>

struct mg_handle;
struct mg_set;

#if IS_ENABLED(CONFIG_PERF_METAGROUP_SET)
int mg_ioctl_reserve_set(struct mg_handle *handle, struct mg_set *set);
void mg_ioctl_finish_set(struct mg_handle *handle, struct mg_set *set, int err);
long mg_ioctl_open_set(struct mg_handle *handle, void __user *uarg);
long mg_ioctl_control_sets(struct mg_handle *handle, void __user *uarg);
#else
static inline long mg_ioctl_open_set(struct mg_handle *handle, void __user *uarg)
{
	return -ENOTTY;
}

static inline long mg_ioctl_control_sets(struct mg_handle *handle, void __user *uarg)
{
	return -ENOTTY;
}
#endif

#endif /* MG_IOCTL_SET_H */
