/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_QUIET_H
#define MG_QUIET_H

struct mg_group;

int mg_quiet_join(struct mg_group *group);
void mg_quiet_leave(struct mg_group *group);

#endif /* MG_QUIET_H */
