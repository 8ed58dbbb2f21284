/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One open file, and what is done with it.
 */
#ifndef MG_HANDLE_H
#define MG_HANDLE_H

#include <linux/compiler.h>
#include <linux/types.h>

struct cpumask;
struct mg_group;

/* It refers to a meta-group and does not own it. */
struct mg_handle {
	struct mg_group *group;	/* a reference */
	u32 format;		/* one word, READ_ONCE() and WRITE_ONCE() */
	bool readable;		/* not opened for writing only; constant */
};

long mg_handle_ioctl(struct mg_handle *handle, unsigned int cmd, unsigned long arg);
ssize_t mg_handle_copy(const struct mg_handle *handle, const struct cpumask *asked,
		       char __user *buf, size_t count);

#endif /* MG_HANDLE_H */
