/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Everything that looks into struct perf_event.
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

/* One instant in both clocks, taken once for all members of a CPU. */
struct mg_now {
	u64 mono;	/* CLOCK_MONOTONIC */
	u64 perf;	/* perf_clock() of the CPU whose members are read */
};

struct mg_now mg_now_on(int cpu);

/* What is known of a leader without reading it. */
struct mg_event_info {
	u64 read_format;
	u32 status;
	u32 nr_events;
	u32 payload;	/* bytes */
	int cpu;
};

struct perf_event *mg_event_of_file(struct file *file);
int mg_event_check_leader(struct perf_event *event, u32 *reason);
int mg_event_read(struct perf_event *leader, const struct mg_now *now,
		  struct perf_metagroup_record *record, u32 room);
int mg_event_refresh(struct perf_event *leader);
int mg_event_read_asleep(struct perf_event *leader, const struct mg_now *asleep,
			 struct perf_metagroup_record *record, u32 room);
int mg_event_describe(struct perf_event *leader, struct mg_event_info *info,
		      u64 *ids, u32 max_ids);
void mg_event_wait_moved(struct perf_event *event);

#endif /* MG_EVENT_H */
