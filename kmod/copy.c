// SPDX-License-Identifier: GPL-2.0-only
/*
 * From the descriptors to the user.
 */
#include <linux/cpumask.h>
#include <linux/uaccess.h>

#include "group.h"
#include "handle.h"
#include "sweep.h"

/* Inline: no function may be called while the user's memory is open. */
static __always_inline bool mg_asked(const struct mg_member *member, const struct cpumask *asked)
{
	return !asked || cpumask_test_cpu(member->cpu, asked);
}

/* Only the payloads. */
static ssize_t mg_copy_raw(const struct mg_group *group,
			   const struct cpumask *asked,
			   char __user *buf, size_t count)
{
	const struct perf_metagroup_record *record;
	size_t total = 0;
	u32 i;
	int err;

	err = mg_sweep_error(group);
	if (err)
		return err;

	for (i = 0; i < group->nr_members; i++)
		if (mg_asked(group->members[i], asked))
			total += group->members[i]->record->size;
	if (total > count)
		return -ENOSPC;
	if (!total)
		return 0;

	if (!user_access_begin(buf, total))
		return -EFAULT;
	for (i = 0; i < group->nr_members; i++) {
		if (!mg_asked(group->members[i], asked))
			continue;
		record = group->members[i]->record;
		unsafe_copy_to_user(buf, (const char *)(record + 1),
				    record->size, fault);
		buf += record->size;
	}
	user_access_end();
	return total;

fault:
	user_access_end();
	return -EFAULT;
}

/* The memory as it is. */
static ssize_t mg_copy_framed(const struct mg_group *group,
			      char __user *buf, size_t count)
{
	size_t size = mg_snapshot_size(&group->snapshot, group->nr_members);

	if (size > count)
		return -ENOSPC;
	return copy_to_user(buf, group->snapshot.head, size) ? -EFAULT : size;
}

/* The header and some of the frames. */
static ssize_t mg_copy_framed_some(const struct mg_group *group,
				   const struct cpumask *asked,
				   char __user *buf, size_t count)
{
	const struct mg_snapshot *snapshot = &group->snapshot;
	struct perf_metagroup_snapshot head = *snapshot->head;
	char __user *frame = buf + MG_SNAPSHOT_HEAD;
	size_t size;
	u32 i;

	head.count = 0;
	for (i = 0; i < group->nr_members; i++)
		head.count += mg_asked(group->members[i], asked);
	size = mg_snapshot_size(snapshot, head.count);
	if (size > count)
		return -ENOSPC;

	if (copy_to_user(buf, &head, sizeof(head)) ||
	    clear_user(buf + sizeof(head), MG_SNAPSHOT_HEAD - sizeof(head)))
		return -EFAULT;
	for (i = 0; i < group->nr_members; i++) {
		if (!mg_asked(group->members[i], asked))
			continue;
		if (copy_to_user(frame, group->members[i]->record, snapshot->stride))
			return -EFAULT;
		frame += snapshot->stride;
	}
	return size;
}

/**
 * mg_handle_copy - give the user what the last sweep found
 * @handle:	of the reader; the mutex of its group is held
 * @asked:	only members on these CPUs, or NULL: all
 * @buf:	to the user
 * @count:	bytes there
 *
 * Return: the number of bytes copied, or an error.
 */
ssize_t mg_handle_copy(const struct mg_handle *handle, const struct cpumask *asked,
		       char __user *buf, size_t count)
{
	const struct mg_group *group = handle->group;

	if (READ_ONCE(handle->format) == PERF_METAGROUP_FORMAT_RAW)
		return mg_copy_raw(group, asked, buf, count);
	if (asked)
		return mg_copy_framed_some(group, asked, buf, count);
	return mg_copy_framed(group, buf, count);
}
