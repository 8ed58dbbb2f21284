/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A description of the events of a set. All of them are opened by it.
 */
#ifndef MG_SPEC_H
#define MG_SPEC_H

#include <linux/kref.h>
#include <linux/perf_event.h>
#include <linux/types.h>

struct cred;

/**
 * struct mg_spec - the events of a set, kept to open them anew or elsewhere
 * @refs:	references
 * @nr_events:	entries of @attrs
 * @cred:	credentials of the task that has described them, with which they are
 *		opened; a reference, constant
 * @revoked:	the PMU of one was unregistered; set once, any context
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
