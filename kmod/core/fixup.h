/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MG_FIXUP_H
#define MG_FIXUP_H

#include <linux/types.h>

struct mg_group;

bool mg_fixup(struct mg_group *group);

#endif /* MG_FIXUP_H */
