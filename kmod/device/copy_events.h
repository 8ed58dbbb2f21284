/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_COPY_EVENTS_H
#define MG_COPY_EVENTS_H

#include <linux/types.h>

struct mg_set;
struct mg_spec;

bool mg_events_stride_is_valid(bool templates, u32 stride);
int mg_copy_in_events(struct mg_set *set, bool templates, const void __user *uevents, u32 stride);
int mg_copy_out_events(const struct mg_spec *spec, char __user *uattrs, u32 stride);

#endif /* MG_COPY_EVENTS_H */
