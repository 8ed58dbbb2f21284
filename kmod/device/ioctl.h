/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_IOCTL_H
#define MG_IOCTL_H

struct mg_handle;

long mg_ioctl(struct mg_handle *handle, unsigned int cmd, unsigned long arg);

#endif /* MG_IOCTL_H */
