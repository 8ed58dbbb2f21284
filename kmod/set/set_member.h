/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_SET_MEMBER_H
#define MG_SET_MEMBER_H

#include <linux/types.h>

struct mg_counter;
struct mg_member;
struct mg_spec;

struct mg_counter *mg_set_counter_create(u32 nr_events, u64 format, int cpu);
struct mg_member *mg_set_member_create(struct mg_spec *spec, u64 format, int cpu, bool follow);
bool mg_set_member_share(struct mg_member *member);
int mg_set_member_open(struct mg_member *member);

#endif /* MG_SET_MEMBER_H */
