/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The description of a set's events, which are all opened from it.
 */
#ifndef MG_SPEC_H
#define MG_SPEC_H

#include <linux/kref.h>
#include <linux/perf_event.h>
#include <linux/types.h>

struct cred;

/**
 * struct mg_spec - the events of a set, kept to reopen them or to open them elsewhere
 * @refs:	references
 * @nr_events:	entries of @attrs
 * @cred:	credentials of the task that has described them, with which they are
 *		opened; a reference, constant
 * @revoked:	the PMU of an event was unregistered; set once, in any context
 * @attrs:	what the events count; constant
 */
struct mg_spec {
	struct kref refs;
	u32 nr_events;
	const struct cred *cred;
	bool revoked;
	struct perf_event_attr attrs[];
};

struct mg_spec *mg_spec_create(u32 nr_events, const struct cred *cred);
void mg_spec_put(struct mg_spec *spec);

void mg_attr_for_counting(struct perf_event_attr *to, const struct perf_event_attr *from);
int mg_attr_of_template(int fd, struct perf_event_attr *attr, u32 *reason);

#endif /* MG_SPEC_H */
