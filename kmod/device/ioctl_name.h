/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_IOCTL_NAME_H
#define MG_IOCTL_NAME_H

struct mg_handle;

long mg_ioctl_publish(struct mg_handle *handle, void __user *uarg);
long mg_ioctl_join(struct mg_handle *handle, void __user *uarg);
long mg_ioctl_unpublish(void __user *uarg);

#endif /* MG_IOCTL_NAME_H */
