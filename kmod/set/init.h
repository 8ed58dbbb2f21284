/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_SET_INIT_H
#define MG_SET_INIT_H

#include <linux/kconfig.h>

#if IS_ENABLED(CONFIG_PERF_METAGROUP_SET)
int mg_set_init(void);
void mg_set_exit(void);
#else
static inline int mg_set_init(void)
{
	return 0;
}

static inline void mg_set_exit(void)
{
}
#endif

#endif /* MG_SET_INIT_H */
