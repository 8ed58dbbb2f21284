// SPDX-License-Identifier: GPL-2.0-only
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "compat/perf_event.h"
#include "set/perf_kernel.h"
#include "set/spec.h"

/**
 * mg_spec_create - allocate the description of a set's events
 * @nr_events:	number of events
 * @cred:	credentials with which they are opened
 *
 * Context: Process context, may sleep.
 * Return: a reference, or NULL.
 */
struct mg_spec *mg_spec_create(u32 nr_events, const struct cred *cred)
{
	struct mg_spec *spec;

	spec = kvzalloc(struct_size(spec, attrs, nr_events), GFP_KERNEL_ACCOUNT);
	if (!spec)
		return NULL;
	kref_init(&spec->refs);
	spec->nr_events = nr_events;
	spec->cred = get_cred(cred);
	return spec;
}

static void mg_spec_free(struct kref *refs)
{
	struct mg_spec *spec = container_of(refs, struct mg_spec, refs);

	put_cred(spec->cred);
	kvfree(spec);
}

/**
 * mg_spec_put - drop a reference
 * @spec:	the description, or NULL
 */
void mg_spec_put(struct mg_spec *spec)
{
	if (spec)
		kref_put(&spec->refs, mg_spec_free);
}

/**
 * mg_attr_for_counting - reduce an attr to what a kernel event counts
 * @to:		result: attr of a pinned event that counts and does nothing else
 * @from:	attr of a template, or of a user
 */
void mg_attr_for_counting(struct perf_event_attr *to, const struct perf_event_attr *from)
{
	*to = (struct perf_event_attr){
		.type = from->type,
		.size = sizeof(*to),
		.config = from->config,
		.bp_type = from->bp_type,
		.exclude_user = from->exclude_user,
		.exclude_kernel = from->exclude_kernel,
		.exclude_hv = from->exclude_hv,
		.exclude_idle = from->exclude_idle,
		.exclude_host = from->exclude_host,
		.exclude_guest = from->exclude_guest,
		.pinned = 1,
	};
	mg_compat_copy_configs(to, from);
}

/*
 * Return true if the task that opened @file was not more privileged than the current
 * task. A set counts on more CPUs than the template, and the descriptor of the template
 * may have been received from another process.
 */
static bool mg_may_use_template(const struct file *file)
{
	const struct cred *opener = file->f_cred;
	const struct cred *user = current_cred();

	return uid_eq(opener->euid, user->euid) && opener->user_ns == user->user_ns &&
	       cap_issubset(opener->cap_effective, user->cap_effective);
}

static int mg_attr_of_event(const struct perf_event *event, struct perf_event_attr *attr,
			    u32 *reason)
{
	unsigned long flags;
	struct perf_event_context *ctx = mg_event_lock(event, &flags);
	int err = 0;

	if (event->state <= PERF_EVENT_STATE_REVOKED) {
		/* Its type may now belong to another PMU. */
		*reason = PERF_METAGROUP_REASON_REFUSED;
		err = -ENODEV;
	} else {
		mg_attr_for_counting(attr, &event->attr);
		/* perf may have replaced the type, see mg_event_is_clock(). */
		if (mg_event_is_clock(event))
			attr->type = PERF_TYPE_SOFTWARE;
	}
	mg_event_unlock(ctx, flags);
	return err;
}

static int mg_attr_of_file(const struct file *file, struct perf_event *event,
			   struct perf_event_attr *attr, u32 *reason)
{
	if (!event) {
		*reason = PERF_METAGROUP_REASON_NOT_PERF;
		return -EINVAL;
	}
	if (mg_event_is_of_task(event)) {
		*reason = PERF_METAGROUP_REASON_TASK;
		return -EINVAL;
	}
	if (is_cgroup_event(event) || event->attr.sample_period) {
		*reason = PERF_METAGROUP_REASON_ATTR;
		return -EINVAL;
	}
	if (!mg_may_use_template(file)) {
		*reason = PERF_METAGROUP_REASON_PERMISSION;
		return -EACCES;
	}
	return mg_attr_of_event(event, attr, reason);
}

/**
 * mg_attr_of_template - get what a template counts
 * @fd:		descriptor of the template
 * @attr:	result
 * @reason:	set to PERF_METAGROUP_REASON_* on failure
 *
 * Context: Process context.
 * Return: 0, -EBADF, -EINVAL, -EACCES or -ENODEV.
 */
int mg_attr_of_template(int fd, struct perf_event_attr *attr, u32 *reason)
{
	struct file *file = fget(fd);
	int err;

	if (!file || !(file->f_mode & FMODE_READ)) {
		*reason = PERF_METAGROUP_REASON_BAD_FD;
		err = -EBADF;
	} else {
		err = mg_attr_of_file(file, mg_event_of_file(file), attr, reason);
	}
	if (file)
		fput(file);
	return err;
}
