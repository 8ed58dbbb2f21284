/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_LIMIT_H
#define MG_LIMIT_H

#include <linux/types.h>

struct mg_limit;

struct mg_limit *mg_limit_get(void);
void mg_limit_put(struct mg_limit *limit);
int mg_limit_wait(struct mg_limit *limit, bool nonblock);
void mg_limit_charge(struct mg_limit *limit, u32 nr_cpus);
void mg_limit_settle(struct mg_limit *limit, u32 nr_cpus);
bool mg_limit_add_events(struct mg_limit *limit, u32 nr_events);
void mg_limit_remove_events(struct mg_limit *limit, u32 nr_events);
bool mg_limit_add_stream(struct mg_limit *limit);
void mg_limit_remove_stream(struct mg_limit *limit);
unsigned long mg_limit_take_pages(struct mg_limit *limit, unsigned long pages);
void mg_limit_give_pages(struct mg_limit *limit, unsigned long pages);
void mg_limit_exit(void);

#endif /* MG_LIMIT_H */
