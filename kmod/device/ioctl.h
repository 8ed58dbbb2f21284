/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_IOCTL_H
#define MG_IOCTL_H

#include <linux/compiler.h>

struct mg_handle;
struct mg_set;

long mg_ioctl(struct mg_handle *handle, unsigned int cmd, unsigned long arg);

/* ioctl_stream.c */
long mg_ioctl_stream(struct mg_handle *handle, void __user *uarg);

/* ioctl_set.c */
int mg_ioctl_reserve_set(struct mg_handle *handle, struct mg_set *set);
void mg_ioctl_finish_set(struct mg_handle *handle, struct mg_set *set, int err);
long mg_ioctl_open_set(struct mg_handle *handle, void __user *uarg);
long mg_ioctl_control_sets(struct mg_handle *handle, void __user *uarg);

/* ioctl_events.c */
long mg_ioctl_set_events(struct mg_handle *handle, void __user *uarg);
long mg_ioctl_get_events(struct mg_handle *handle, void __user *uarg);

/* ioctl_name.c */
long mg_ioctl_publish(struct mg_handle *handle, void __user *uarg);
long mg_ioctl_join(struct mg_handle *handle, void __user *uarg);
long mg_ioctl_unpublish(void __user *uarg);

#endif /* MG_IOCTL_H */
