/* SPDX-License-Identifier: MIT */
/**
 * \file
 * Reads the counters of all CPUs with one call, for C. A subset of the C++ library, whose headers
 * describe it in more detail: see <metagroup/metagroup.hpp>.
 *
 * Functions that can fail return NULL or -1, set errno, and set a message with the failed
 * operation, the reason and the remedy: see metagroup_error_message(). Programming errors, such as
 * an index out of range or a NULL string, set errno to EINVAL, even in functions that then return 0
 * or 1.
 *
 * Objects belong to the caller and are freed by the function declared next to the constructor; it
 * ignores NULL. Pointers to other objects, and to results, must not be NULL. One thread at a time may
 * use an object.
 */
#ifndef METAGROUP_H
#define METAGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How counters are read. The snapshots are the same. */
enum metagroup_backend {
	METAGROUP_BACKEND_AUTOMATIC, /**< the module if its device can be used */
	METAGROUP_BACKEND_MODULE,    /**< one read(2) of /dev/perf_metagroup for all */
	METAGROUP_BACKEND_PER_FD,    /**< one read(2) per CPU and group */
	METAGROUP_BACKEND_PERCPU,    /**< experimental: one event on all CPUs */
};

/** The state of a member in a snapshot: the values of perf_metagroup_record.status. */
enum metagroup_status {
	METAGROUP_OK,       /**< counting */
	METAGROUP_INACTIVE, /**< enabled, but not on the PMU now; the counts are complete */
	METAGROUP_OFF,      /**< disabled; the counts are complete */
	METAGROUP_ERROR,    /**< a pinned event that could not be put on the PMU; no counts */
	METAGROUP_OFFLINE,  /**< its CPU went offline; has the last counts */
	METAGROUP_REVOKED,  /**< its PMU was unregistered; has the last counts */
	METAGROUP_STALE,    /**< could not be read this time; no counts */
	METAGROUP_IDLE,     /**< its CPU is idle; was read on entry to idle */
	METAGROUP_SKIPPED,  /**< its CPU is isolated and was not interrupted; no counts */
};

/** The events and CPUs to open. */
struct metagroup_config;
/** Event groups on many CPUs. */
struct metagroup_group;
/** The counts of all members at one time. */
struct metagroup_snapshot;
/** Samples from all CPUs at common deadlines. */
struct metagroup_stream;

/**
 * The message of the last failed call in this thread: "operation: reason; remedy". Never NULL.
 * Valid until the next failure.
 */
const char *metagroup_error_message(void);
/** The version of the library, for example "0.1.0". */
const char *metagroup_version(void);

/**
 * A configuration with no events, all online CPUs and the automatic backend.
 */
struct metagroup_config *metagroup_config_new(void);
void metagroup_config_free(struct metagroup_config *config);
/**
 * Adds events, for example "{cycles,instructions},page-faults": see parse_events() in
 * <metagroup/event_spec.hpp>.
 */
int metagroup_config_add_events(struct metagroup_config *config, const char *events);
/** Sets the CPUs, for example "0-3,8". */
int metagroup_config_set_cpus(struct metagroup_config *config, const char *cpus);
/** Counts only while tasks of this cgroup run: its path below /sys/fs/cgroup. */
int metagroup_config_set_cgroup(struct metagroup_config *config, const char *cgroup);
int metagroup_config_set_backend(struct metagroup_config *config, enum metagroup_backend backend);
/** Does not wake idle CPUs, or does not interrupt isolated ones. Both require the module. */
int metagroup_config_set_mode(struct metagroup_config *config, bool quiet, bool skip_isolated);
/** Does not start counting until metagroup_group_enable(). */
int metagroup_config_set_disabled(struct metagroup_config *config, bool disabled);

/** Opens every group on every CPU, all or none, and enables them. */
struct metagroup_group *metagroup_group_open(const struct metagroup_config *config);
void metagroup_group_close(struct metagroup_group *group);
/** The backend in use, never METAGROUP_BACKEND_AUTOMATIC. */
enum metagroup_backend metagroup_group_get_backend(const struct metagroup_group *group);
/** The number of members: groups on CPUs. Record i of a snapshot is member i. */
size_t metagroup_group_get_size(const struct metagroup_group *group);
/** The index of the member's group in the configuration. -1 if there is no such member. */
int metagroup_group_get_group(const struct metagroup_group *group, size_t member);
/** The number of events of a member; 0 if there is no such member. */
size_t metagroup_group_get_event_count(const struct metagroup_group *group, size_t member);
/** The event as written. NULL if there is no such event. Valid as long as the group. */
const char *metagroup_group_get_event_name(const struct metagroup_group *group, size_t member, size_t event);
/** The unit of count * scale, for example "Joules"; "" for occurrences. NULL if there is no such event. */
const char *metagroup_group_get_event_unit(const struct metagroup_group *group, size_t member, size_t event);
/** The factor from counts to the unit: 1 for most events, and if there is no such event. */
double metagroup_group_get_event_scale(const struct metagroup_group *group, size_t member, size_t event);

int metagroup_group_enable(struct metagroup_group *group);
int metagroup_group_disable(struct metagroup_group *group);
/** Sets all counts to 0. */
int metagroup_group_reset(struct metagroup_group *group);

/** An empty snapshot; reuse it for many reads. */
struct metagroup_snapshot *metagroup_snapshot_new(void);
void metagroup_snapshot_free(struct metagroup_snapshot *snapshot);
/**
 * Reads all members. Allocates only if the snapshot is too small, as it is the first time.
 */
int metagroup_group_read(struct metagroup_group *group, struct metagroup_snapshot *snapshot);

/** The number of records. */
size_t metagroup_snapshot_get_size(const struct metagroup_snapshot *snapshot);
/** Start and end of the sweep: CLOCK_MONOTONIC in ns. */
uint64_t metagroup_snapshot_get_begin_ns(const struct metagroup_snapshot *snapshot);
uint64_t metagroup_snapshot_get_end_ns(const struct metagroup_snapshot *snapshot);
/** The CPU of a record. -1 if there is no such record. */
int metagroup_snapshot_get_cpu(const struct metagroup_snapshot *snapshot, size_t record);
/** An enum metagroup_status, or a value from a newer module. -1 if there is no such record. */
int metagroup_snapshot_get_status(const struct metagroup_snapshot *snapshot, size_t record);
/** When the member was read: CLOCK_MONOTONIC in ns. 0 if there is no such record. */
uint64_t metagroup_snapshot_get_time_ns(const struct metagroup_snapshot *snapshot, size_t record);
/** The count of an event, as the kernel returned it. -1 with ENODATA if the record has no such count. */
int metagroup_snapshot_get_count(const struct metagroup_snapshot *snapshot, size_t record,
				 size_t event, uint64_t *count);
/** The times enabled and on the PMU, in ns. -1 with ENODATA if the record has no counts. */
int metagroup_snapshot_get_times(const struct metagroup_snapshot *snapshot, size_t record,
				 uint64_t *enabled, uint64_t *running);
/**
 * The count between two snapshots of the same group, extrapolated to the whole time enabled (count
 * enabled / running). -1 with ENODATA if one of them has no such count, the event was not on the
 * PMU, or counts were reset.
 */
int metagroup_snapshot_get_difference(const struct metagroup_snapshot *older,
				      const struct metagroup_snapshot *newer, size_t record,
				      size_t event, double *count);

/**
 * Makes all CPUs sample their members at multiples of a period on CLOCK_MONOTONIC. Freeing the
 * object stops the stream. It must not outlive the group. In a child process of fork(2) it has ended
 * and has no data.
 *
 * \param group      the group
 * \param period_ns  10 us to 60 s
 * \param ring_size  bytes in the ring of each CPU: a power of two from a page to 64 MiB; 0 for 256 KiB
 */
struct metagroup_stream *metagroup_stream_start(struct metagroup_group *group, uint64_t period_ns,
						size_t ring_size);
void metagroup_stream_free(struct metagroup_stream *stream);
/**
 * Waits until data is ready; a negative timeout waits forever. Returns 1 if data is ready, 0 after
 * the timeout, and 2 without waiting if the stream has ended, through metagroup_stream_stop() or
 * because its CPUs are offline: the remaining data can be read, and no more follows. -1 on error.
 */
int metagroup_stream_wait(struct metagroup_stream *stream, int64_t timeout_ns);
/**
 * Takes some complete deadlines, oldest first, and returns their number; 0 if there are no more.
 * They are valid until the next call of this function, metagroup_stream_wait() or
 * metagroup_stream_stop(). -1 on error.
 */
int metagroup_stream_read(struct metagroup_stream *stream);
/** Stops sampling. Data in the rings can still be read. */
int metagroup_stream_stop(struct metagroup_stream *stream);

/** The time of a deadline, CLOCK_MONOTONIC in ns; 0 if there is no such deadline. */
uint64_t metagroup_stream_get_time_ns(const struct metagroup_stream *stream, size_t deadline);
/** The number of samples of a deadline; 0 if there is no such deadline. */
size_t metagroup_stream_get_size(const struct metagroup_stream *stream, size_t deadline);
/** The member of a sample. -1 if there is no such sample. */
int metagroup_stream_get_member(const struct metagroup_stream *stream, size_t deadline,
				size_t sample);
/** The CPU that wrote a sample. -1 if there is no such sample. */
int metagroup_stream_get_cpu(const struct metagroup_stream *stream, size_t deadline,
			     size_t sample);
/** 0 if the sample has counts, otherwise the number of deadlines lost in its place. */
uint64_t metagroup_stream_get_lost(const struct metagroup_stream *stream, size_t deadline,
				   size_t sample);
/** The count of an event, as the kernel returned it. -1 with ENODATA if the sample has no such count. */
int metagroup_stream_get_count(const struct metagroup_stream *stream, size_t deadline,
			       size_t sample, size_t event, uint64_t *count);

#ifdef __cplusplus
}
#endif

#endif /* METAGROUP_H */
