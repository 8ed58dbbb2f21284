/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_QUIET_H
#define MG_QUIET_H

#include <linux/errno.h>
#include <linux/kconfig.h>

struct mg_group;

#if IS_ENABLED(CONFIG_PERF_METAGROUP_QUIET)
int mg_quiet_join(struct mg_group *group);
void mg_quiet_leave(struct mg_group *group);
#else
static inline int mg_quiet_join(struct mg_group *group)
{
	return -EINVAL;
}

static inline void mg_quiet_leave(struct mg_group *group)
{
}
#endif

#endif /* MG_QUIET_H */
