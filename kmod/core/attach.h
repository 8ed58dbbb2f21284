/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Members are attached in steps: prepare, reserve, commit, end. The result is copied
 * to the user between reserve and commit, after all allocations and before the
 * members are visible, so a failed copy leaves nothing to undo.
 */
#ifndef MG_ATTACH_H
#define MG_ATTACH_H

#include <linux/types.h>

struct mg_group;
struct mg_member;

#define MG_MAX_MEMBERS	8192
#define MG_MAX_PER_CPU	1024

/**
 * struct mg_attach - members that are being attached, all or none
 * @members:	the members
 * @nr_members:	entries of @members; 0 once they are attached
 * @first:	number of the first
 * @failed:	index of the descriptor that caused the error
 * @reason:	PERF_METAGROUP_REASON_*
 */
struct mg_attach {
	struct mg_member **members;
	u32 nr_members;
	u32 first;
	u32 failed;
	u32 reason;
};

int mg_attach_prepare(struct mg_attach *attach, const s32 *fds, u32 count);
int mg_attach_reserve(struct mg_attach *attach, struct mg_group *group);
int mg_attach_commit(struct mg_attach *attach, struct mg_group *group);
void mg_attach_end(struct mg_attach *attach);

int mg_detach(struct mg_group *group, u32 id);

#endif /* MG_ATTACH_H */
