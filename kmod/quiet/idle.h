/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Callbacks on each CPU when it enters and leaves idle.
 */
#ifndef MG_IDLE_H
#define MG_IDLE_H

#include <linux/errno.h>
#include <linux/kconfig.h>
#include <linux/list.h>
#include <linux/types.h>

/**
 * struct mg_budget - what a CPU may still do before it enters idle
 * @members:	members to visit
 * @events:	events to read
 */
struct mg_budget {
	unsigned int members;
	unsigned int events;
};

/**
 * struct mg_idle - called by each CPU when it enters and leaves idle
 * @list:	entry in the list of all; mg_idle_mutex
 * @enter:	called with interrupts off; reduces the budget of the CPU; constant
 * @exit:	called with interrupts on or off; constant
 *
 * Both are called on the CPU itself.
 */
struct mg_idle {
	struct list_head list;
	void (*enter)(struct mg_idle *idle, unsigned int cpu, struct mg_budget *budget);
	void (*exit)(struct mg_idle *idle, unsigned int cpu);
};

#if IS_ENABLED(CONFIG_PERF_METAGROUP_QUIET)
void mg_idle_init(struct mg_idle *idle,
		  void (*enter)(struct mg_idle *idle, unsigned int cpu,
				struct mg_budget *budget),
		  void (*exit)(struct mg_idle *idle, unsigned int cpu));
int mg_idle_join(struct mg_idle *idle);
bool mg_idle_leave(struct mg_idle *idle);
void mg_idle_exit(void);
#else
static inline void mg_idle_init(struct mg_idle *idle,
				void (*enter)(struct mg_idle *idle, unsigned int cpu,
					      struct mg_budget *budget),
				void (*exit)(struct mg_idle *idle, unsigned int cpu))
{
}

/* Only meta-groups in quiet mode and their streams call this. */
static inline int mg_idle_join(struct mg_idle *idle)
{
	return -EINVAL;
}

static inline bool mg_idle_leave(struct mg_idle *idle)
{
	return false;
}

static inline void mg_idle_exit(void)
{
}
#endif

#endif /* MG_IDLE_H */
