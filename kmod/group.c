// SPDX-License-Identifier: GPL-2.0-only
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "compat/isolation.h"
#include "group.h"
#include "quiet.h"

/* A move between CPUs is waited for; this often, it moves again meanwhile. */
#define MG_MOVE_TRIES	4

/* A record that no sweep has seen to. */
static void mg_group_blank(const struct mg_group *group, struct mg_member *member)
{
	bool spared = cpumask_test_cpu(member->cpu, group->spared);

	*member->record = (struct perf_metagroup_record){
		.header = sizeof(*member->record),
		.member = member->id,
		.cpu = member->cpu,
		.status = spared ? PERF_METAGROUP_SPARED : PERF_METAGROUP_STALE,
		.read_format = member->source.read_format,
	};
}

/* Give every member its frame. Payloads are void until the next sweep. */
void mg_group_lay_out(struct mg_group *group)
{
	struct perf_metagroup_snapshot *head = group->snapshot.head;
	u32 i;

	head->size = MG_SNAPSHOT_HEAD;
	head->count = group->nr_members;
	head->stride = group->snapshot.stride;
	for (i = 0; i < group->nr_members; i++) {
		group->members[i]->record = mg_snapshot_frame(&group->snapshot, i);
		mg_group_blank(group, group->members[i]);
	}
}

static bool mg_group_alloc_masks(struct mg_group *group)
{
	return zalloc_cpumask_var(&group->running, GFP_KERNEL_ACCOUNT) &&
	       zalloc_cpumask_var(&group->cpus, GFP_KERNEL_ACCOUNT) &&
	       zalloc_cpumask_var(&group->spared, GFP_KERNEL_ACCOUNT) &&
	       zalloc_cpumask_var(&group->asked, GFP_KERNEL_ACCOUNT) &&
	       zalloc_cpumask_var(&group->chosen, GFP_KERNEL_ACCOUNT) &&
	       zalloc_cpumask_var(&group->targets, GFP_KERNEL_ACCOUNT);
}

static void mg_group_free_masks(struct mg_group *group)
{
	free_cpumask_var(group->targets);
	free_cpumask_var(group->chosen);
	free_cpumask_var(group->asked);
	free_cpumask_var(group->spared);
	free_cpumask_var(group->cpus);
	free_cpumask_var(group->running);
}

/* Memory of a power of two is aligned as each struct mg_cpu has to be. */
static bool mg_group_alloc_cpus(struct mg_group *group)
{
	unsigned int cpu;

	group->on_cpu = kvcalloc(roundup_pow_of_two(nr_cpu_ids),
				 sizeof(*group->on_cpu), GFP_KERNEL_ACCOUNT);
	group->awaited = kvcalloc(nr_cpu_ids, sizeof(*group->awaited), GFP_KERNEL_ACCOUNT);
	if (!group->on_cpu || !group->awaited)
		return false;
	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		raw_spin_lock_init(&group->on_cpu[cpu].lock);
	return true;
}

struct mg_group *mg_group_create(void)
{
	struct mg_group *group;

	group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	if (!group)
		return ERR_PTR(-ENOMEM);

	mutex_init(&group->mutex);
	kref_init(&group->refs);
	INIT_LIST_HEAD(&group->quiet);
	if (mg_snapshot_init(&group->snapshot) ||
	    !mg_group_alloc_cpus(group) || !mg_group_alloc_masks(group)) {
		mg_group_put(group);
		return ERR_PTR(-ENOMEM);
	}
	mg_group_lay_out(group);
	return group;
}

static void mg_group_free(struct kref *refs)
{
	struct mg_group *group = container_of(refs, struct mg_group, refs);
	u32 i;

	mg_quiet_leave(group);
	for (i = 0; i < group->nr_members; i++)
		mg_member_destroy(group->members[i]);
	kvfree(group->members);
	mg_group_free_masks(group);
	kvfree(group->awaited);
	kvfree(group->on_cpu);
	mg_snapshot_destroy(&group->snapshot);
	mutex_destroy(&group->mutex);
	kfree(group);
}

void mg_group_put(struct mg_group *group)
{
	kref_put(&group->refs, mg_group_free);
}

/* Make room for payloads of @payload bytes in all frames, during a sweep. */
int mg_group_grow(struct mg_group *group, u32 payload)
{
	int err;

	err = mg_snapshot_reserve(&group->snapshot, group->nr_members, payload);
	if (!err)
		mg_group_lay_out(group);
	return err;
}

/* Put @member last on @cpu. Return: how many are there before it. */
u32 mg_group_link(struct mg_group *group, struct mg_member *member, int cpu)
{
	struct mg_cpu *on_cpu = &group->on_cpu[cpu];
	struct mg_member **link = &on_cpu->first;
	u32 before = 0;

	raw_spin_lock_irq(&on_cpu->lock);
	mg_quiet_wake(on_cpu);
	for (; *link; link = &(*link)->next)
		before++;
	member->next = NULL;
	WRITE_ONCE(*link, member);	/* mg_quiet_cpu_idle() looks without the lock */
	raw_spin_unlock_irq(&on_cpu->lock);

	member->cpu = cpu;
	cpumask_set_cpu(cpu, group->cpus);
	cpumask_set_cpu(cpu, group->running);
	return before;
}

void mg_group_unlink(struct mg_group *group, struct mg_member *member)
{
	struct mg_cpu *on_cpu = &group->on_cpu[member->cpu];
	struct mg_member **link = &on_cpu->first;

	raw_spin_lock_irq(&on_cpu->lock);
	mg_quiet_wake(on_cpu);
	while (*link != member)
		link = &(*link)->next;
	WRITE_ONCE(*link, member->next);
	raw_spin_unlock_irq(&on_cpu->lock);

	if (!on_cpu->first) {
		cpumask_clear_cpu(member->cpu, group->cpus);
		cpumask_clear_cpu(member->cpu, group->running);
	}
}

/* Follow an event that its PMU has moved to another CPU. */
void mg_group_rehome(struct mg_group *group, struct mg_member *member)
{
	mg_event_wait_moved(member->source.leader);
	mg_group_unlink(group, member);
	mg_group_link(group, member, READ_ONCE(member->source.leader->cpu));
	mg_group_blank(group, member);
}

int mg_member_describe(struct mg_member *member, struct mg_event_info *info,
		       u64 *ids, u32 max_ids)
{
	int tries = MG_MOVE_TRIES;
	int err;

	for (;;) {
		err = mg_event_describe(&member->source, info, ids, max_ids);
		if (err != -EAGAIN || !--tries)
			return err;
		mg_event_wait_moved(member->source.leader);
	}
}

/*
 * PERF_EVENT_IOC_ENABLE and the like for every leader and its siblings. The
 * leader's own ioctl does it: it alone may walk the siblings under ctx->mutex,
 * and it asks the security module.
 */
int mg_group_control(struct mg_group *group, unsigned int perf_cmd)
{
	u32 i;
	int first = 0;
	int err;

	err = mg_group_lock(group);
	if (err)
		return err;

	for (i = 0; i < group->nr_members; i++) {
		struct file *file = group->members[i]->file;

		err = file->f_op->unlocked_ioctl(file, perf_cmd, PERF_IOC_FLAG_GROUP);
		if (err && !first)
			first = err;
	}
	mg_group_unlock(group);
	return first;
}

/* CPUs that were isolated from the tick or from load balancing. */
static void mg_isolated_cpus(struct cpumask *isolated)
{
	rcu_read_lock();	/* the masks may be replaced, since 7.0 */
	cpumask_and(isolated, housekeeping_cpumask(HK_TYPE_TICK),
		    housekeeping_cpumask(HK_TYPE_DOMAIN));
	rcu_read_unlock();
	cpumask_andnot(isolated, cpu_possible_mask, isolated);
}

int mg_group_set_mode(struct mg_group *group, u32 mode)
{
	int err;

	err = mg_group_lock(group);
	if (err)
		return err;

	if (mode & PERF_METAGROUP_MODE_QUIET)
		err = mg_quiet_join(group);
	else
		mg_quiet_leave(group);
	if (err)
		goto unlock;

	group->mode = mode;
	mg_snapshot_write_begin(&group->snapshot);
	if (mode & PERF_METAGROUP_MODE_SPARE_ISOLATED)
		mg_isolated_cpus(group->spared);
	else
		cpumask_clear(group->spared);
	mg_group_lay_out(group);
	mg_snapshot_write_end(&group->snapshot);
unlock:
	mg_group_unlock(group);
	return err;
}

int mg_group_info(struct mg_group *group, struct mg_group_info *info)
{
	u32 i;
	int err;

	err = mg_group_lock(group);
	if (err)
		return err;

	info->members = group->nr_members;
	info->cpus = cpumask_weight(group->cpus);
	info->mode = group->mode;
	info->framed_size = mg_snapshot_size(&group->snapshot, group->nr_members);
	info->raw_size = 0;
	for (i = 0; i < group->nr_members; i++) {
		struct mg_event_info event;

		mg_event_describe(&group->members[i]->source, &event, NULL, 0);
		info->raw_size += event.payload;
	}
	mg_group_unlock(group);
	return 0;
}

int mg_group_member(struct mg_group *group, u32 id, struct mg_event_info *info,
		    u64 *ids, u32 max_ids)
{
	int index;
	int err;

	err = mg_group_lock(group);
	if (err)
		return err;

	index = mg_group_find(group, id);
	err = index < 0 ? index : mg_member_describe(group->members[index], info,
						     ids, max_ids);
	mg_group_unlock(group);
	return err;
}
