/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_IOCTL_SET_H
#define MG_IOCTL_SET_H

#include <linux/types.h>

struct mg_handle;

long mg_ioctl_open_set(struct mg_handle *handle, void __user *uarg);
long mg_ioctl_control_sets(struct mg_handle *handle, void __user *uarg);

#endif /* MG_IOCTL_SET_H */
