/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What looks into struct perf_event, besides read.c.
 */
#ifndef MG_EVENT_H
#define MG_EVENT_H

#include <linux/fs.h>
#include <linux/perf_event.h>
#include <linux/perf_metagroup.h>

/*
 * perf_event_open(2) keeps the read_size of a group under 16 KiB, see
 * perf_event_validate_size().
 */
#define MG_MAX_PAYLOAD	(16 * 1024)

/* What is constant of a leader, where a handler finds it at once. */
struct mg_source {
	struct perf_event *leader;
	u16 read_format;
	u16 once;	/* bytes of a payload ... */
	u16 each;	/* ... and for each event */
};

/* One instant in both clocks, taken once for all members of a CPU. */
struct mg_now {
	u64 mono;	/* CLOCK_MONOTONIC */
	u64 perf;	/* perf_clock() of the CPU whose members are read */
};

/* What is known of a leader without reading it. */
struct mg_event_info {
	u64 read_format;
	u32 status;
	u32 nr_events;
	u32 payload;	/* bytes */
	int cpu;
};

/* Where a group is, seen under the lock of the context it was found on. */
enum mg_place {
	MG_INSTALLED,	/* on that context */
	MG_DISSOLVED,	/* on none, for good */
	MG_MOVING,	/* on its way to another */
};

/*
 * Look at @event under @ctx->lock, interrupts off, where @ctx was event->ctx
 * before the lock was taken.
 *
 * If installed, it stays there and its sibling_list stands still until the
 * lock is dropped, because both change under this lock only.
 *
 * Hotplug and a vanishing PMU dissolve the group; a move to another CPU or PMU
 * (perf_pmu_migrate_context(), move_group) keeps it together.
 */
static inline enum mg_place
mg_event_place(const struct perf_event *event,
	       const struct perf_event_context *ctx)
{
	/*
	 * Pairs with smp_store_release(&event->ctx) in perf_install_in_context():
	 * an event that was put on another context since has its ->ctx stored
	 * before list_add_event() set PERF_ATTACH_CONTEXT under that one's lock.
	 */
	unsigned int attached = smp_load_acquire(&event->attach_state);

	if (READ_ONCE(event->ctx) != ctx)
		return MG_MOVING;
	if (attached & PERF_ATTACH_CONTEXT)
		return MG_INSTALLED;
	return attached & PERF_ATTACH_GROUP ? MG_MOVING : MG_DISSOLVED;
}

struct perf_event *mg_event_of_file(struct file *file);
int mg_event_check_leader(struct perf_event *event, u32 *reason);
struct mg_source mg_event_source(struct perf_event *leader);
int mg_event_describe(const struct mg_source *source, struct mg_event_info *info,
		      u64 *ids, u32 max_ids);
void mg_event_wait_moved(struct perf_event *event);

u32 mg_event_status(const struct perf_event *event, enum mg_place place);

#endif /* MG_EVENT_H */
