/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_REPLACE_H
#define MG_REPLACE_H

struct mg_group;
struct mg_member;

int mg_replace_reserve(struct mg_group *group, const struct mg_member *old,
		       const struct mg_member *new);
void mg_replace_commit(struct mg_group *group, struct mg_member *old, struct mg_member *new);

#endif /* MG_REPLACE_H */
