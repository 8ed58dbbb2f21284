// SPDX-License-Identifier: GPL-2.0-only
#include <linux/anon_inodes.h>
#include <linux/list.h>
#include <linux/magic.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "compat/perf_event.h"
#include "core/perf_access.h"

/* The f_op of all perf files; set once, from the first such file. */
static const struct file_operations *mg_perf_fops;

/**
 * mg_event_of_file - get the perf event behind a file
 * @file:	any file
 *
 * perf_fops is not exported. A perf file has an anonymous inode whose name user
 * space cannot choose, so the f_op of the first file with that name is perf_fops.
 *
 * Context: Any; the caller holds a reference to @file.
 * Return: the event, or NULL if @file is not a perf event.
 */
struct perf_event *mg_event_of_file(struct file *file)
{
	if (!READ_ONCE(mg_perf_fops) &&
	    file_inode(file)->i_sb->s_magic == ANON_INODE_FS_MAGIC &&
	    !strcmp(file->f_path.dentry->d_name.name, "[perf_event]"))
		cmpxchg(&mg_perf_fops, NULL, file->f_op);

	return file->f_op == READ_ONCE(mg_perf_fops) ? file->private_data : NULL;
}

/**
 * mg_event_check_leader - check that an event can be a member
 * @event:	the event
 * @reason:	set to PERF_METAGROUP_REASON_* on failure
 *
 * Return: 0, or -EINVAL.
 */
int mg_event_check_leader(struct perf_event *event, u32 *reason)
{
	if (READ_ONCE(event->group_leader) != event) {
		*reason = PERF_METAGROUP_REASON_SIBLING;
		return -EINVAL;
	}
	if (mg_event_is_of_task(event)) {
		*reason = PERF_METAGROUP_REASON_TASK;
		return -EINVAL;
	}
	if (event->attr.read_format >= MG_FORMAT_MAX) {
		*reason = PERF_METAGROUP_REASON_ATTR;
		return -EINVAL;
	}
	return 0;
}

/**
 * mg_event_status - status of an event as in a record
 * @event:	leader of a group
 * @place:	where it is
 *
 * Context: ctx->lock is held.
 * Return: PERF_METAGROUP_OK, ...
 */
u32 mg_event_status(const struct perf_event *event, enum mg_place place)
{
	int state = event->state;

	if (state == PERF_EVENT_STATE_REVOKED)
		return PERF_METAGROUP_REVOKED;
	/* read(2) returns 0 bytes for it, installed or not. */
	if (state == PERF_EVENT_STATE_ERROR)
		return PERF_METAGROUP_ERROR;
	if (place != MG_INSTALLED)
		return PERF_METAGROUP_OFFLINE;

	switch (state) {
	case PERF_EVENT_STATE_ACTIVE:
		return PERF_METAGROUP_OK;
	case PERF_EVENT_STATE_INACTIVE:
		return PERF_METAGROUP_INACTIVE;
	default:
		return PERF_METAGROUP_OFF;
	}
}

/**
 * mg_event_wait_moved - wait for a move to another context to complete
 * @event:	the event
 *
 * A move holds both ctx->mutexes throughout. perf_event_read_value() takes one of
 * them.
 *
 * Context: Process context, may sleep.
 */
void mg_event_wait_moved(struct perf_event *event)
{
	u64 enabled, running;

	perf_event_read_value(event, &enabled, &running);
}

/**
 * mg_counter_init - set the layout of a counter's payload
 * @counter:	the counter
 * @format:	read_format of the payload
 */
void mg_counter_init(struct mg_counter *counter, u64 format)
{
	bool group = format & PERF_FORMAT_GROUP;
	bool id = format & PERF_FORMAT_ID;
	bool enabled = format & PERF_FORMAT_TOTAL_TIME_ENABLED;
	bool running = format & PERF_FORMAT_TOTAL_TIME_RUNNING;
	bool lost = format & PERF_FORMAT_LOST;

	counter->read_format = format;
	/* In a group the times precede the first count, else they follow it. */
	counter->count_word = group ? 1 + enabled + running : 0;
	counter->running_word = 1 + enabled;
	counter->id_word = group ? counter->count_word + 1 : 1 + enabled + running;
	counter->lost_word = counter->id_word + id;
	counter->stride = 1 + id + lost;
	counter->header_words = enabled + running + group;
	counter->record_size = counter->kernel ? sizeof(struct perf_metagroup_set_record) :
						 sizeof(struct perf_metagroup_record);
}

/* Number of events that a payload has words for. ctx->lock is held. */
static u32 mg_counter_nr_events(const struct mg_counter *counter)
{
	return counter->read_format & PERF_FORMAT_GROUP ?
		1 + counter->leader->nr_siblings : 1;
}

/**
 * mg_leader_describe - describe a group without reading its counters
 * @counter:	the counter, which has a file
 * @info:	result
 * @ids:	result: ids of leader and siblings
 * @max_ids:	entries of @ids
 *
 * Context: Any. Takes ctx->lock.
 * Return: 0, or -EAGAIN while the group is being moved.
 */
int mg_leader_describe(const struct mg_counter *counter, struct mg_event_info *info,
		       u64 *ids, u32 max_ids)
{
	struct perf_event *leader = counter->leader;
	struct perf_event_context *ctx = READ_ONCE(leader->ctx);
	struct perf_event *event = leader;
	enum mg_place place;
	unsigned long flags;
	u32 i;

	raw_spin_lock_irqsave(&ctx->lock, flags);
	place = mg_event_place(leader, ctx);

	info->read_format = counter->read_format;
	info->status = mg_event_status(leader, place);
	info->nr_events = 1 + leader->nr_siblings;
	info->nr_in_payload = mg_counter_nr_events(counter);
	info->payload = mg_payload_size(counter, info->nr_in_payload);
	info->cpu = leader->cpu;

	for (i = 0; i < min(max_ids, info->nr_events); i++) {
		/* The list may be shorter than nr_siblings: see mg_plan_make(). */
		if (i && event == leader) {
			ids[i] = 0;
			continue;
		}
		ids[i] = event->id;
		event = list_next_entry(event, sibling_list);
	}

	raw_spin_unlock_irqrestore(&ctx->lock, flags);
	return place == MG_MOVING ? -EAGAIN : 0;
}

/**
 * mg_counter_max_events - the largest number of events that read(2) would return
 * @counter:	the counter
 *
 * Return: that number.
 */
u32 mg_counter_max_events(const struct mg_counter *counter)
{
	return (MG_MAX_PAYLOAD / sizeof(u64) - counter->header_words) / counter->stride;
}

/**
 * mg_plan_alloc - allocate a plan, which its first user makes
 * @counter:	the counter
 * @capacity:	maximum number of events
 *
 * Context: Process context, may sleep.
 * Return: the plan, or NULL.
 */
struct mg_plan *mg_plan_alloc(struct mg_counter *counter, u32 capacity)
{
	struct mg_plan *plan;

	plan = kvzalloc(struct_size(plan, counts, 2 * capacity) +
			2 * capacity * sizeof(*plan->events), GFP_KERNEL_ACCOUNT);
	if (!plan)
		return NULL;
	plan->counter = counter;
	plan->capacity = capacity;
	plan->clocks = plan->counts + capacity;
	plan->events = (void *)(plan->clocks + capacity);
	plan->reads = plan->events + capacity;
	if (counter->kernel)
		return plan;	/* see mg_kernel_plan() */
	plan->leader = counter->leader;
	/* Generations only increase, so the group never has this one. */
	plan->generation = READ_ONCE(plan->leader->group_generation) - 1;
	return plan;
}

/**
 * mg_plan_free - free a plan
 * @plan:	the plan, or NULL
 */
void mg_plan_free(struct mg_plan *plan)
{
	kvfree(plan);
}

/*
 * Events of the listed types count in software. cpu-clock and task-clock have
 * PMUs of other types. Under the wrong lock the PMU may be gone.
 */
static bool mg_pmu_needs_read(const struct pmu *pmu)
{
	if (!pmu)
		return false;
	switch (pmu->type) {
	case PERF_TYPE_SOFTWARE:
	case PERF_TYPE_TRACEPOINT:
	case PERF_TYPE_BREAKPOINT:
		return false;
	default:
		return true;
	}
}

/**
 * mg_event_needs_read - check whether a count needs pmu->read() to be up to date
 * @event:	an event whose PMU is registered
 *
 * Return: true if so.
 */
bool mg_event_needs_read(const struct perf_event *event)
{
	return mg_pmu_needs_read(READ_ONCE(event->pmu));
}

/* Later kernels change attr.type to the type of the clock's own PMU, which has a name. */
static bool mg_event_is_named_clock(const struct perf_event *event, u64 config, const char *name)
{
	const struct pmu *pmu = READ_ONCE(event->pmu);

	if (event->attr.config != config)
		return false;
	return event->attr.type == PERF_TYPE_SOFTWARE ||
	       (pmu && !pmu->module && pmu->name && !strcmp(pmu->name, name));
}

/**
 * mg_event_is_clock - check whether an event is cpu-clock or task-clock
 * @event:	an event
 *
 * Return: true if so.
 */
bool mg_event_is_clock(const struct perf_event *event)
{
	return mg_event_is_named_clock(event, PERF_COUNT_SW_CPU_CLOCK, "cpu_clock") ||
	       mg_event_is_named_clock(event, PERF_COUNT_SW_TASK_CLOCK, "task_clock");
}

/*
 * Return true if an event of the group samples. To throttle it, perf may stop all
 * events of the group and start them later without updating their counts. This drops
 * what a clock has counted since its last update, so it must not have been shown before:
 * such clocks are read with pmu->read(), which stores the count that is shown.
 */
static bool mg_group_samples(struct perf_event *leader)
{
	struct perf_event *event = leader;
	int left = leader->nr_siblings;

	do {
		if (event->attr.sample_period)
			return true;
		event = list_next_entry(event, sibling_list);
	} while (left-- > 0 && event != leader);
	return false;
}

/*
 * State of a plan that is being made. The sizes of its arrays are local to the CPU
 * that makes it: if two CPUs make the same plan at once, because one of them holds the
 * wrong lock, both stay within the arrays.
 */
struct mg_plan_making {
	bool samples;
	u16 present, reads, clocks, counts;
};

static void mg_plan_add(struct mg_plan *plan, struct perf_event *event,
			enum mg_place place, struct mg_plan_making *making)
{
	const struct pmu *pmu = READ_ONCE(event->pmu);
	const struct mg_counter *counter = plan->counter;
	u32 index = making->present++;
	struct mg_count count = {
		.event = event,
		.word = counter->count_word + index * counter->stride,
		.task = event->attr.config == PERF_COUNT_SW_TASK_CLOCK,
	};
	bool clock = false;

	/* The PMU of an event without a context may be gone. */
	if (place == MG_INSTALLED && mg_pmu_needs_read(pmu)) {
		/* Uncore, msr and clock events count while the CPU is idle. */
		if (pmu->task_ctx_nr != perf_hw_context)
			plan->idle_stable = false;
		clock = !making->samples && mg_event_is_clock(event);
		if (!clock)
			plan->reads[making->reads++] = event;
	}
	plan->events[index] = event;
	if (clock)
		plan->clocks[making->clocks++] = count;
	else
		plan->counts[making->counts++] = count;
}

/* Return true if mg_write_plain() can write the payload: both times, no special case. */
static bool mg_counter_is_plain(const struct mg_counter *counter)
{
	u64 format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
		     PERF_FORMAT_TOTAL_TIME_RUNNING;

	return (counter->read_format & ~PERF_FORMAT_ID) == format &&
	       !is_cgroup_event(counter->leader) &&
	       !mg_compat_time_may_go_back(counter->leader);
}

static enum mg_scope mg_plan_scope(const struct mg_plan *plan)
{
	if (!plan->nr_reads && !plan->nr_clocks)
		return MG_SCOPE_ANY;
	if (plan->leader->group_caps & (PERF_EV_CAP_READ_ACTIVE_PKG | PERF_EV_CAP_READ_SCOPE))
		return MG_SCOPE_TOPOLOGY;
	return MG_SCOPE_CPU;
}

/**
 * mg_plan_make - make the plan of a group
 * @plan:	the plan
 * @place:	where the group is; not MG_MOVING
 *
 * Siblings are walked by count. If the group changes while the walker holds the
 * wrong lock (see docs/locking.md), the walk still terminates, and each step leads to
 * an event, which RCU keeps alive while interrupts are off.
 *
 * The list may be shorter than the count: Linux 5.10 dissolves a group without
 * setting nr_siblings to 0, and read(2) returns zeros for the missing events.
 *
 * Context: ctx->lock is held, interrupts are off.
 * Return: 0, or -EMSGSIZE if the group has more events than the plan's capacity.
 */
int mg_plan_make(struct mg_plan *plan, enum mg_place place)
{
	const struct mg_counter *counter = plan->counter;
	struct perf_event *leader = plan->leader;
	struct perf_event *event = leader;
	u32 nr_events = mg_counter_nr_events(counter);
	struct mg_plan_making making = { .samples = mg_group_samples(leader) };

	if (nr_events > plan->capacity)
		return -EMSGSIZE;

	plan->generation = leader->group_generation;
	/* The plan is not valid for the group once it has a context again. */
	if (place != MG_INSTALLED)
		plan->generation--;
	plan->first = leader->sibling_list.next;
	plan->nr_events = nr_events;
	plan->idle_stable = true;
	do {
		mg_plan_add(plan, event, place, &making);
		event = list_next_entry(event, sibling_list);
	} while (making.present < nr_events && event != leader);
	plan->nr_present = making.present;
	plan->nr_reads = making.reads;
	plan->nr_clocks = making.clocks;
	plan->nr_counts = making.counts;
	plan->scope = mg_plan_scope(plan);
	plan->plain = plan->scope == MG_SCOPE_CPU && mg_counter_is_plain(counter);
	/* Software groups need no transaction. */
	plan->transaction = plan->nr_reads && counter->read_format & PERF_FORMAT_GROUP &&
			    !(leader->group_caps & PERF_EV_CAP_SOFTWARE);
	return 0;
}

/**
 * mg_plan_write_constants - write the words that depend on the plan only
 * @plan:	a current plan
 * @payload:	destination
 *
 * Context: ctx->lock is held.
 */
void mg_plan_write_constants(const struct mg_plan *plan, u64 *payload)
{
	const struct mg_counter *counter = plan->counter;
	u32 i;

	if (counter->read_format & PERF_FORMAT_GROUP)
		payload[0] = plan->nr_events;
	if (counter->read_format & PERF_FORMAT_ID)
		for (i = 0; i < plan->nr_present; i++)
			payload[counter->id_word + i * counter->stride] = plan->events[i]->id;
	memset(payload + counter->header_words + plan->nr_present * counter->stride, 0,
	       sizeof(u64) * (plan->nr_events - plan->nr_present) * counter->stride);
}

/**
 * mg_event_in_scope - check whether this CPU may call pmu->read() of an active event
 * @event:	leader of a group, or a kernel event
 *
 * Context: ctx->lock is held, interrupts are off.
 * Return: true if so.
 */
bool mg_event_in_scope(const struct perf_event *event)
{
	return __perf_event_read_cpu(event, event->oncpu) == smp_processor_id();
}
