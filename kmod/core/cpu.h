/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The members of one CPU, and how that CPU or another one reads them.
 */
#ifndef MG_CPU_H
#define MG_CPU_H

#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <asm/barrier.h>

#include "core/read.h"
#include "core/sink.h"

/* Bounds the time for which a handler runs with interrupts off. */
#define MG_MAX_EVENTS_PER_CPU	2048

/**
 * struct mg_cpu - one CPU of a meta-group
 * @first:	list of members, in the order in which they were added; changed
 *		under mg_group.mutex and @lock, read under either
 * @nr_events:	capacity of the plans of all members, in events; mg_group.mutex
 * @sample_room: bytes that the members need in a ring for one deadline; @lock
 * @done:	number of the last broadcast that the CPU has completed; sweep
 * @now:	when the CPU took part in it; sweep
 * @lock:	see docs/locking.md
 * @max_room:	maximum of @sample_room: the size of the rings of a running stream;
 *		mg_group.mutex
 * @idle_seq:	odd while the CPU is idle and its counts date from @idle_now; @lock
 * @idle_now:	when the CPU entered idle; @lock
 *
 * "sweep": written by the handler on this CPU, read by the sweeping task.
 */
struct mg_cpu {
	struct mg_member *first;
	u32 nr_events;
	u32 done;
	struct mg_now now;
	raw_spinlock_t lock;
	u32 sample_room;
	u32 max_room;
	u32 idle_seq;
	struct mg_now idle_now;
} ____cacheline_aligned;

/**
 * struct mg_cpus - the CPUs of a meta-group, and data that handlers share
 * @on_cpu:		[nr_cpu_ids]; constant
 * @sink:		where handlers write records
 * @round:		number of broadcasts so far, see mg_cpu.done
 * @begin:		start of the sweep, CLOCK_MONOTONIC
 * @clock_offset:	difference of CLOCK_MONOTONIC and perf_clock()
 * @window:		ns after @begin within which handlers are expected to run
 * @running:		CPUs that have a member which only they can read
 * @needs_retry:	some member could not be read
 * @mask:		CPUs that have members; mg_group.mutex
 *
 * Handlers read the fields before @running, which the sweeping task writes under
 * mg_group.mutex while no handler runs. Handlers rarely write @running and
 * @needs_retry.
 */
struct mg_cpus {
	struct mg_cpu *on_cpu;
	struct mg_sink sink;
	u32 round;
	u64 begin;
	u64 clock_offset;
	u64 window;

	cpumask_var_t running ____cacheline_aligned;
	bool needs_retry;
	cpumask_var_t mask;
};

int mg_cpus_init(struct mg_cpus *cpus);
void mg_cpus_destroy(struct mg_cpus *cpus);
void mg_cpus_add(struct mg_cpus *cpus, struct mg_member *member, int cpu);
void mg_cpus_remove(struct mg_cpus *cpus, struct mg_member *member);
void mg_cpus_replace_plan(struct mg_cpus *cpus, struct mg_member *member,
			  struct mg_plan *plan);

void mg_cpu_read(void *info);
void mg_cpu_read_remote(struct mg_cpus *cpus, int cpu, bool skip);

/* The current time, perf_clock() as CPU @cpu would return it. */
static inline struct mg_now mg_now_of(int cpu)
{
	return (struct mg_now){
		.mono = ktime_get_ns(),
		.perf = mg_perf_clock(cpu),
	};
}

/* Return true if @room bytes fit into the ring of the CPU. mg_group.mutex is held. */
static inline bool mg_cpu_has_room(const struct mg_cpu *on_cpu, u64 room)
{
	return room <= on_cpu->max_room;
}

/*
 * Invalidate the counts that date from idle_now, because the CPU leaves idle or
 * its members change. on_cpu->lock is held.
 */
static inline void mg_cpu_idle_invalidate(struct mg_cpu *on_cpu)
{
	if (on_cpu->idle_seq & 1)
		WRITE_ONCE(on_cpu->idle_seq, on_cpu->idle_seq + 1);
	/* Pairs with the smp_rmb() of mg_cpu_read_idle(). */
	smp_wmb();
}

#endif /* MG_CPU_H */
