// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "core/group.h"
#include "core/sweep.h"
#include "device/copy.h"

/**
 * mg_copy_in - copy an extensible structure in
 * @arg:	destination; its first field becomes the caller's sizeof
 * @size:	bytes at @arg
 * @min:	size of the first version
 * @uarg:	source
 *
 * Context: Process context. May fault.
 * Return: 0, -EFAULT, -EINVAL if the caller's structure is smaller than @min, or
 * -E2BIG if it is larger than a page or has unknown fields that are not 0.
 */
int mg_copy_in(void *arg, size_t size, size_t min, void __user *uarg)
{
	u32 usize;
	int err;

	if (get_user(usize, (u32 __user *)uarg))
		return -EFAULT;
	if (usize < min)
		return -EINVAL;
	if (usize > PAGE_SIZE)
		return -E2BIG;

	err = copy_struct_from_user(arg, size, uarg, usize);
	if (err)
		return err;

	/* Use the size that was checked: user memory may have changed since. */
	*(u32 *)arg = usize;
	return 0;
}

/**
 * mg_copy_out - copy an extensible structure out
 * @uarg:	destination
 * @arg:	source; its first field is the caller's sizeof
 * @size:	bytes at @arg
 *
 * Context: Process context. May fault.
 * Return: 0 or -EFAULT.
 */
int mg_copy_out(void __user *uarg, const void *arg, size_t size)
{
	size = min_t(size_t, size, *(const u32 *)arg);
	return copy_to_user(uarg, arg, size) ? -EFAULT : 0;
}

/**
 * mg_copy_in_cpus - copy a CPU mask in
 * @cpus:	result
 * @uwords:	source
 * @count:	entries of @uwords
 *
 * Context: Process context. May fault.
 * Return: 0; 1 if there are bits beyond nr_cpu_ids, which are ignored; or -EFAULT.
 */
int mg_copy_in_cpus(struct cpumask *cpus, const u64 __user *uwords, u32 count)
{
	u32 base, cpu, i;
	int beyond = 0;
	u64 word;

	cpumask_clear(cpus);
	for (i = 0; i < count; i++) {
		if (get_user(word, uwords + i))
			return -EFAULT;
		base = i * BITS_PER_TYPE(word);
		for (; word; word &= word - 1) {
			cpu = base + __ffs64(word);
			if (cpu < nr_cpu_ids)
				__cpumask_set_cpu(cpu, cpus);
			else
				beyond = 1;
		}
	}
	return beyond;
}

static bool mg_requested(const struct mg_member *member, const struct cpumask *req_mask)
{
	return !req_mask || cpumask_test_cpu(member->cpu, req_mask);
}

static int mg_reserve_raw(struct mg_group *group)
{
	if (likely(group->raw_size >= group->frames.size))
		return 0;
	kvfree(group->raw);
	/* Allocate twice as much, so that attaching one by one seldom allocates. */
	group->raw_size = 2 * group->frames.size;
	group->raw = kvmalloc(group->raw_size, GFP_KERNEL_ACCOUNT);
	if (!group->raw) {
		group->raw_size = group->frames.size;
		group->raw = kvmalloc(group->raw_size, GFP_KERNEL_ACCOUNT);
	}
	if (!group->raw)
		group->raw_size = 0;
	return group->raw ? 0 : -ENOMEM;
}

/*
 * RAW: the payloads only. They are gathered in group->raw first, because one
 * copy_to_user() per payload takes longer than copying all of them twice.
 */
static ssize_t mg_copy_raw(struct mg_group *group, const struct cpumask *req_mask,
			   char __user *buf, size_t count)
{
	size_t total;
	void *to;
	u32 i;
	int err;

	err = mg_sweep_error(group);
	if (err)
		return err;
	err = mg_reserve_raw(group);
	if (err)
		return err;

	to = group->raw;
	for (i = 0; i < group->frames.nr_members; i++) {
		const struct mg_member *member = group->frames.members[i];
		const struct perf_metagroup_record *record;

		if (!mg_requested(member, req_mask))
			continue;
		record = mg_sink_record(&group->cpus.sink, member);
		memcpy(to, (const void *)record + record->header, record->size);
		to += record->size;
	}
	total = to - group->raw;
	if (total > count)
		return -ENOSPC;
	return copy_to_user(buf, group->raw, total) ? -EFAULT : total;
}

/* FRAMED, all members: the whole copy of the snapshot. */
static ssize_t mg_copy_framed(const struct mg_group *group,
			      char __user *buf, size_t count)
{
	const struct perf_metagroup_snapshot *head = group->cpus.sink.base;

	if (head->bytes > count)
		return -ENOSPC;
	return copy_to_user(buf, head, head->bytes) ? -EFAULT : head->bytes;
}

/* FRAMED, some members: the header and their frames. */
static ssize_t mg_copy_framed_some(const struct mg_group *group,
				   const struct cpumask *req_mask,
				   char __user *buf, size_t count)
{
	const struct perf_metagroup_snapshot *whole = group->cpus.sink.base;
	struct perf_metagroup_snapshot head = *whole;
	char __user *to = buf + MG_SNAPSHOT_HEAD;
	u32 i;

	head.count = 0;
	head.bytes = MG_SNAPSHOT_HEAD;
	for (i = 0; i < group->frames.nr_members; i++) {
		const struct mg_member *member = group->frames.members[i];

		if (!mg_requested(member, req_mask))
			continue;
		head.count++;
		head.bytes += mg_sink_record(&group->cpus.sink, member)->frame;
	}
	if (head.bytes > count)
		return -ENOSPC;

	if (copy_to_user(buf, &head, sizeof(head)) ||
	    clear_user(buf + sizeof(head), MG_SNAPSHOT_HEAD - sizeof(head)))
		return -EFAULT;
	for (i = 0; i < group->frames.nr_members; i++) {
		const struct mg_member *member = group->frames.members[i];
		const struct perf_metagroup_record *record;

		if (!mg_requested(member, req_mask))
			continue;
		record = mg_sink_record(&group->cpus.sink, member);
		if (copy_to_user(to, record, record->frame))
			return -EFAULT;
		to += record->frame;
	}
	return head.bytes;
}

/**
 * mg_copy_snapshot - copy the result of the last sweep to user space
 * @group:	the meta-group
 * @format:	PERF_METAGROUP_FORMAT_*
 * @req_mask:	copy only members on these CPUs; NULL for all
 * @buf:	destination
 * @count:	bytes at @buf
 *
 * Context: Process context, mg_group.mutex is held. May fault.
 * Return: the number of bytes copied, or an error.
 */
ssize_t mg_copy_snapshot(struct mg_group *group, u32 format, const struct cpumask *req_mask,
			 char __user *buf, size_t count)
{
	if (format == PERF_METAGROUP_FORMAT_RAW)
		return mg_copy_raw(group, req_mask, buf, count);
	if (req_mask)
		return mg_copy_framed_some(group, req_mask, buf, count);
	return mg_copy_framed(group, buf, count);
}
