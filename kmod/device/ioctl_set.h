/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_IOCTL_SET_H
#define MG_IOCTL_SET_H

#include <linux/types.h>

struct mg_handle;
struct mg_set;

int mg_ioctl_reserve_set(struct mg_handle *handle, struct mg_set *set);
void mg_ioctl_finish_set(struct mg_handle *handle, struct mg_set *set, int err);
long mg_ioctl_open_set(struct mg_handle *handle, void __user *uarg);
long mg_ioctl_control_sets(struct mg_handle *handle, void __user *uarg);

#endif /* MG_IOCTL_SET_H */
