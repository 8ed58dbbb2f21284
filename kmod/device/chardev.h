/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_CHARDEV_H
#define MG_CHARDEV_H

extern const struct file_operations mg_chardev_fops;

#endif /* MG_CHARDEV_H */
