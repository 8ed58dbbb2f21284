/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A member: one event group, held open by its leader's file and claimed, so
 * that no other meta-group can take it.
 */
#ifndef MG_MEMBER_H
#define MG_MEMBER_H

#include <linux/fs.h>
#include <linux/list.h>
#include <linux/perf_metagroup.h>

#include "event.h"

/*
 * Fields without a note are constant. "sweep": written by the handler on the
 * member's CPU during a sweep, and under mg_group.mutex between sweeps.
 */
struct mg_member {
	/* what the handler reads, first, on one cache line */
	struct mg_source source;
	struct perf_metagroup_record *record;	/* mg_group.mutex */
	struct mg_member *next;			/* on that CPU; mg_group.mutex */
	int cpu;				/* mg_group.mutex */
	int error;	/* sweep: why the record is stale, 0 if it is not */
	u32 id;					/* mg_group.mutex, then constant */

	struct file *file;			/* of the leader; a reference */
	struct hlist_node claim;		/* mg_claims_lock */
};

struct mg_member *mg_member_create(int fd, u32 *reason);
void mg_member_destroy(struct mg_member *member);

#endif /* MG_MEMBER_H */
