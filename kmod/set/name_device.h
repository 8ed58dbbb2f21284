/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_NAME_DEVICE_H
#define MG_NAME_DEVICE_H

struct device;
struct mg_name;

struct device *mg_name_device_create(struct mg_name *name);
void mg_name_device_destroy(struct device *device);

int mg_name_device_init(void);
void mg_name_device_exit(void);

#endif /* MG_NAME_DEVICE_H */
