/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Access to struct perf_event from outside kernel/events/core.c. All code that
 * depends on perf's internals is here, in perf_access.c and in perf_read.h, which
 * has the part that every sweep executes.
 */
#ifndef MG_PERF_ACCESS_H
#define MG_PERF_ACCESS_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/perf_event.h>
#include <linux/perf_metagroup.h>
#include <linux/types.h>

/*
 * perf_event_open(2) keeps the read_size of a group under 16 KiB, see
 * perf_event_validate_size().
 */
#define MG_MAX_PAYLOAD	(16 * 1024)

/* An unknown bit of read_format would change the payload. */
#define MG_FORMAT_MAX	BIT(5)
static_assert(PERF_FORMAT_MAX >= MG_FORMAT_MAX);

/* In place of a CPU: read as if from another CPU. Unlike -1, event->oncpu is never this. */
#define MG_OTHER_CPU	(-2)

struct mg_member;
struct mg_set_ops;

/**
 * struct mg_counter - the source of a member's counts
 * @leader:		leader of a perf group, or the first kernel event; NULL until the
 *			events are open, then constant
 * @id:			identifier of the leader; constant
 * @read_format:	of the payload; constant
 * @count_word:		index of the leader's count in the payload; constant
 * @running_word:	index of total_time_running; constant
 * @id_word:		index of the leader's identifier; constant
 * @lost_word:		index of the leader's lost samples; constant
 * @stride:		words from one event's count to the next one's; constant
 * @header_words:	words of the payload that belong to no event; constant
 * @record_size:	bytes of a record before its payload; constant
 * @shown_enabled:	last total_time_enabled that was returned; ctx->lock
 * @shown_running:	last total_time_running that was returned; ctx->lock
 * @ops:		operations of kernel events; NULL for a perf group; constant
 * @kernel:		kernel events, which count on @cpu; or NULL; constant
 * @nr_kernel:		entries of @kernel; constant
 * @cpu:		CPU of the kernel events; constant
 * @file:		file of the leader; a reference, which keeps the leader; or NULL; constant
 * @refs:		references to the counter of a perf group; see counter.c
 * @node:		entry in the table of counters; mg_counters_mutex
 * @owner:		the attached member, or NULL; mg_claims_mutex
 *
 * The layout of a payload is that of perf_event_read_format in
 * <linux/perf_event.h>. @shown_enabled and @shown_running are used only for
 * events whose times may go back in perf.
 */
struct mg_counter {
	struct perf_event *leader;
	u64 id;
	u8 read_format;
	u8 count_word;
	u8 running_word;
	u8 id_word;
	u8 lost_word;
	u8 stride;
	u8 header_words;
	u8 record_size;
	u64 shown_enabled;
	u64 shown_running;
	const struct mg_set_ops *ops;
	struct perf_event **kernel;
	u32 nr_kernel;
	int cpu;
	struct file *file;
	struct kref refs;
	struct hlist_node node;
	const struct mg_member *owner;
};

/**
 * enum mg_scope - the CPUs from which a group can be read
 * @MG_SCOPE_CPU:	only the CPU that the group counts on
 * @MG_SCOPE_TOPOLOGY:	the CPUs of its package, die or core
 * @MG_SCOPE_ANY:	all CPUs; event->count is always up to date
 *
 * A wider scope has a larger value. Functions that read a member return a scope
 * or a negative error.
 */
enum mg_scope {
	MG_SCOPE_CPU,
	MG_SCOPE_TOPOLOGY,
	MG_SCOPE_ANY,
};

/**
 * struct mg_count - an event and the position of its count in the payload
 * @event:	the event
 * @word:	index of its count
 * @task:	for clocks: task-clock, not cpu-clock
 */
struct mg_count {
	struct perf_event *event;
	u32 word;
	bool task;
};

/**
 * struct mg_plan - how the payload of a group is produced
 * @leader:		leader of the group; constant
 * @first:		leader->sibling_list.next when the plan was made
 * @generation:		leader->group_generation when the plan was made
 * @capacity:		maximum number of events in the arrays and the frame; constant
 * @nr_events:		events that the payload has words for
 * @nr_present:		entries of @events; the words of further events are 0
 * @nr_reads:		entries of @reads
 * @nr_clocks:		entries of @clocks
 * @nr_counts:		entries of @counts
 * @scope:		enum mg_scope
 * @plain:		mg_write_plain() can write the payload
 * @transaction:	pmu->start_txn() and pmu->commit_txn() are needed
 * @idle_stable:	no count changes while the CPU is idle
 * @movable:		for kernel events: a PMU may move one to another CPU
 * @reads:		events whose pmu->read() has an effect
 * @clocks:		cpu-clock and task-clock events of groups that do not sample, see
 *			mg_write_clocks()
 * @events:		all events, the leader first
 * @counter:		the counter of @leader; constant
 * @counts:		events that are not in @clocks
 *
 * For kernel events, @reads has one entry per event, which is NULL if its pmu->read()
 * has no effect. Their plan is made once.
 *
 * With a plan, a sweep neither walks the sibling list nor tests the type of
 * an event. The CPU that reads the group makes it under ctx->lock. Its memory is
 * replaced only between sweeps, see mg_member.plan.
 */
struct mg_plan {
	struct perf_event *leader;
	const struct list_head *first;
	u32 generation;
	u16 capacity;
	u16 nr_events;
	u16 nr_present;
	u16 nr_reads;
	u16 nr_clocks;
	u16 nr_counts;
	u8 scope;
	bool plain;
	bool transaction;
	bool idle_stable;
	bool movable;
	struct perf_event **reads;
	struct mg_count *clocks;
	struct perf_event **events;
	struct mg_counter *counter;
	struct mg_count counts[];
};

/**
 * struct mg_now - one instant in two clocks
 * @mono:	CLOCK_MONOTONIC
 * @perf:	perf_clock() of the CPU whose members are read
 */
struct mg_now {
	u64 mono;
	u64 perf;
};

/**
 * struct mg_event_info - description of a group, made without reading it
 * @read_format:	of the leader
 * @status:		PERF_METAGROUP_OK, ...
 * @nr_events:		leader and siblings
 * @nr_in_payload:	events that a payload has words for
 * @payload:		bytes of a payload
 * @cpu:		CPU of the leader
 * @generation:		how many times the events were reopened or replaced
 * @error:		errno of the last attempt to reopen them, or 0
 * @failed:		index of the event that caused it
 * @reason:		PERF_METAGROUP_REASON_*
 * @users:		largest number of members that share one of the events
 */
struct mg_event_info {
	u64 read_format;
	u32 status;
	u32 nr_events;
	u32 nr_in_payload;
	u32 payload;
	int cpu;
	u32 generation;
	u32 error;
	u32 failed;
	u32 reason;
	u32 users;
};

/**
 * enum mg_place - where an event is, as seen under the lock of a context
 * @MG_INSTALLED:	on that context
 * @MG_DISSOLVED:	permanently on no context
 * @MG_MOVING:		on its way to another context, or already there
 */
enum mg_place {
	MG_INSTALLED,
	MG_DISSOLVED,
	MG_MOVING,
};

/**
 * mg_event_place - determine where an event is
 * @event:	the event
 * @ctx:	event->ctx as loaded before ctx->lock was taken
 *
 * An installed event stays on @ctx, and its sibling_list does not change, until
 * the lock is released: both change under this lock only.
 *
 * CPU hotplug and the removal of a PMU dissolve a group. A move to another CPU
 * or PMU (perf_pmu_migrate_context(), move_group) keeps it together.
 *
 * Context: ctx->lock is held, interrupts are off.
 * Return: its place.
 */
static inline enum mg_place mg_event_place(const struct perf_event *event,
					   const struct perf_event_context *ctx)
{
	/*
	 * PERF_ATTACH_CONTEXT as set on a new context implies the new ->ctx on
	 * most machines; for the others see docs/locking.md, "Ordering".
	 */
	unsigned int attached = smp_load_acquire(&event->attach_state);

	if (READ_ONCE(event->ctx) != ctx)
		return MG_MOVING;
	if (attached & PERF_ATTACH_CONTEXT)
		return MG_INSTALLED;
	return attached & PERF_ATTACH_GROUP ? MG_MOVING : MG_DISSOLVED;
}

/* Return true if the group is permanently on no context. */
static inline bool mg_status_is_dissolved(u32 status)
{
	return status == PERF_METAGROUP_OFFLINE || status == PERF_METAGROUP_REVOKED;
}

/* Return true if @event counts a task, on one CPU or on all. */
static inline bool mg_event_is_of_task(const struct perf_event *event)
{
	return READ_ONCE(event->attach_state) & PERF_ATTACH_TASK || READ_ONCE(event->cpu) < 0;
}

/**
 * mg_counter_cpu - the CPU that a counter counts on
 * @counter:	the counter
 *
 * Context: Any. A PMU may move a group at any time.
 * Return: its number.
 */
static inline int mg_counter_cpu(const struct mg_counter *counter)
{
	return counter->kernel ? counter->cpu : READ_ONCE(counter->leader->cpu);
}

/**
 * mg_counter_id - identifier of a leader, see PERF_EVENT_IOC_ID
 * @counter:	the counter
 *
 * Return: the identifier.
 */
static inline u64 mg_counter_id(const struct mg_counter *counter)
{
	return counter->id;
}

/**
 * mg_payload_size - bytes of a payload
 * @counter:	the counter
 * @nr_events:	events that the payload has words for
 *
 * Return: the number of bytes.
 */
static inline u32 mg_payload_size(const struct mg_counter *counter, u32 nr_events)
{
	return sizeof(u64) * (counter->header_words + nr_events * counter->stride);
}

struct perf_event *mg_event_of_file(struct file *file);
int mg_event_check_leader(struct perf_event *event, u32 *reason);
u32 mg_event_status(const struct perf_event *event, enum mg_place place);
void mg_event_wait_moved(struct perf_event *event);

void mg_counter_init(struct mg_counter *counter, u64 format);
int mg_leader_describe(const struct mg_counter *counter, struct mg_event_info *info,
		       u64 *ids, u32 max_ids);
u32 mg_counter_max_events(const struct mg_counter *counter);

struct mg_plan *mg_plan_alloc(struct mg_counter *counter, u32 capacity);
void mg_plan_free(struct mg_plan *plan);
int mg_plan_make(struct mg_plan *plan, enum mg_place place);
void mg_plan_write_constants(const struct mg_plan *plan, u64 *payload);
bool mg_event_needs_read(const struct perf_event *event);
bool mg_event_is_clock(const struct perf_event *event);
bool mg_event_in_scope(const struct perf_event *event);

#endif /* MG_PERF_ACCESS_H */
