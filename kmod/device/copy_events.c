// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copying the attrs of sets from and to user memory.
 */
#include <linux/capability.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/perf_metagroup.h>
#include <linux/security.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "core/perf_access.h"
#include "device/copy_events.h"
#include "set/set.h"

/* Copy an attr in, as perf_copy_attr() does. */
static int mg_copy_in_attr(struct perf_event_attr *attr, struct perf_event_attr __user *uattr)
{
	u32 size;
	int err;

	if (get_user(size, &uattr->size))
		return -EFAULT;
	if (!size)
		size = PERF_ATTR_SIZE_VER0;
	err = size < PERF_ATTR_SIZE_VER0 || size > PAGE_SIZE ? -E2BIG :
		copy_struct_from_user(attr, sizeof(*attr), uattr, size);
	if (err == -E2BIG && put_user((u32)sizeof(*attr), &uattr->size))
		err = -EFAULT;
	return err;
}

/* The checks of perf_event_open(2) for counting events, except those of PMUs. */
static bool mg_attr_is_valid(const struct perf_event_attr *attr)
{
	return !attr->__reserved_1 && !attr->__reserved_2 && !attr->__reserved_3 &&
	       attr->sample_type < PERF_SAMPLE_MAX && attr->read_format < MG_FORMAT_MAX &&
	       !attr->sample_period;
}

/*
 * Some kernels' perf_event_open(2) requires CAP_SYS_ADMIN at the highest level of
 * perf_event_paranoid. perf does not check that when a module opens an event.
 */
static int mg_may_open_attrs(void)
{
	if (!capable(CAP_SYS_ADMIN))
		return -EACCES;
	return security_locked_down(LOCKDOWN_PERF);
}

static int mg_copy_in_attrs(struct mg_set *set, const char __user *uattrs, u32 stride)
{
	struct perf_event_attr attr;
	int err = mg_may_open_attrs();
	u32 i;

	if (err) {
		set->failure.reason = PERF_METAGROUP_REASON_PERMISSION;
		return err;
	}
	for (i = 0; i < set->spec->nr_events; i++, uattrs += stride) {
		memset(&attr, 0, sizeof(attr));
		err = mg_copy_in_attr(&attr, (struct perf_event_attr __user *)uattrs);
		if (err == -EFAULT)
			return err;
		if (!err && !mg_attr_is_valid(&attr))
			err = -EINVAL;
		if (err) {
			set->failure.event = i;
			set->failure.reason = PERF_METAGROUP_REASON_ATTR;
			return err;
		}
		mg_attr_for_counting(&set->spec->attrs[i], &attr);
	}
	return 0;
}

static int mg_copy_in_templates(struct mg_set *set, const s32 __user *ufds)
{
	s32 fd;
	u32 i;
	int err;

	for (i = 0; i < set->spec->nr_events; i++) {
		if (get_user(fd, ufds + i))
			return -EFAULT;
		err = mg_attr_of_template(fd, &set->spec->attrs[i], &set->failure.reason);
		if (err) {
			set->failure.event = i;
			return err;
		}
	}
	return 0;
}

/**
 * mg_events_stride_is_valid - check the distance of events in user memory
 * @templates:	the events are descriptors
 * @stride:	the distance in bytes, from the user
 *
 * Return: true if it is valid.
 */
bool mg_events_stride_is_valid(bool templates, u32 stride)
{
	if (templates)
		return !stride;
	return stride >= PERF_ATTR_SIZE_VER0 && stride <= PAGE_SIZE && !(stride % sizeof(u64));
}

/**
 * mg_copy_in_events - copy in the events of a set
 * @set:	its @spec is filled, and @failure set if an event is the cause of an error
 * @templates:	the events are descriptors, else attrs
 * @uevents:	source
 * @stride:	bytes from one attr to the next
 *
 * Context: Process context, may sleep and fault.
 * Return: 0 or an error.
 */
int mg_copy_in_events(struct mg_set *set, bool templates, const void __user *uevents, u32 stride)
{
	int err = templates ? mg_copy_in_templates(set, uevents) :
			      mg_copy_in_attrs(set, uevents, stride);

	if (err)
		return err;
	/* perf does not check anything for events that are already open. */
	err = mg_kernel_may_open();
	if (err)
		set->failure.reason = PERF_METAGROUP_REASON_PERMISSION;
	return err;
}

/**
 * mg_copy_out_events - copy out the attrs of a set's events
 * @spec:	the events
 * @uattrs:	destination
 * @stride:	bytes from one attr to the next
 *
 * Context: Process context, may fault.
 * Return: 0, -EFAULT, or -E2BIG if an attr is longer than @stride.
 */
int mg_copy_out_events(const struct mg_spec *spec, char __user *uattrs, u32 stride)
{
	u32 size = min_t(u32, stride, sizeof(struct perf_event_attr));
	u32 i;

	for (i = 0; i < spec->nr_events; i++, uattrs += stride) {
		struct perf_event_attr attr = spec->attrs[i];

		if (memchr_inv((const char *)&attr + size, 0, sizeof(attr) - size))
			return -E2BIG;
		attr.size = size;
		if (copy_to_user(uattrs, &attr, size) || clear_user(uattrs + size, stride - size))
			return -EFAULT;
	}
	return 0;
}
