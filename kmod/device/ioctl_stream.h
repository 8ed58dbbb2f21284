/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_IOCTL_STREAM_H
#define MG_IOCTL_STREAM_H

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kconfig.h>

struct mg_handle;

#if IS_ENABLED(CONFIG_PERF_METAGROUP_STREAM)
long mg_ioctl_stream(struct mg_handle *handle, void __user *uarg);
#else
static inline long mg_ioctl_stream(struct mg_handle *handle, void __user *uarg)
{
	return -ENOTTY;
}
#endif

#endif /* MG_IOCTL_STREAM_H */
