/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_NAMES_H
#define MG_NAMES_H

struct mg_group;
struct mg_name;

int mg_name_publish(struct mg_name *name);
int mg_name_unpublish(const char *text);
struct mg_name *mg_name_find(const char *text, struct mg_group **group);

#endif /* MG_NAMES_H */
