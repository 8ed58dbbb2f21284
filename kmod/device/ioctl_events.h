/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_IOCTL_EVENTS_H
#define MG_IOCTL_EVENTS_H

struct mg_handle;

long mg_ioctl_set_events(struct mg_handle *handle, void __user *uarg);
long mg_ioctl_get_events(struct mg_handle *handle, void __user *uarg);

#endif /* MG_IOCTL_EVENTS_H */
