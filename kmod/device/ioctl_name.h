/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_IOCTL_NAME_H
#define MG_IOCTL_NAME_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kconfig.h>

struct mg_handle;

#if IS_ENABLED(CONFIG_PERF_METAGROUP_SET)
long mg_ioctl_publish(struct mg_handle *handle, void __user *uarg);
long mg_ioctl_join(struct mg_handle *handle, void __user *uarg);
long mg_ioctl_unpublish(void __user *uarg);
#else
static inline long mg_ioctl_publish(struct mg_handle *handle, void __user *uarg)
{
	return -ENOTTY;
}

static inline long mg_ioctl_join(struct mg_handle *handle, void __user *uarg)
{
	return -ENOTTY;
}

static inline long mg_ioctl_unpublish(void __user *uarg)
{
	return -ENOTTY;
}
#endif

#endif /* MG_IOCTL_NAME_H */
