/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Perf meta-groups: read the counters of many CPUs with one read().
 *
 *   int mg = open("/dev/perf_metagroup", O_RDWR | O_CLOEXEC);
 *   ioctl(mg, PERF_METAGROUP_IOC_ATTACH, &attach);   // perf fds of leaders
 *   read(mg, buf, size);                             // one sweep
 *
 * Each open() creates an empty meta-group. A member is either the leader of a perf
 * event group, opened with cpu >= 0 and pid == -1, or one CPU of a set, whose events
 * the module opens itself. A sweep brings all members up to date with one broadcast
 * and returns what read(2) of each leader would have returned. See
 * perf_metagroup(4).
 *
 * Structures: the caller sets the first field to sizeof(struct), and all reserved
 * fields and unused flags to 0. A structure larger than the kernel's is accepted
 * if the bytes that the kernel does not know are 0, else E2BIG. A smaller one is
 * accepted down to the size of the first version. No field is a pointer: the
 * layout is the same for 32-bit and 64-bit callers.
 *
 * Each ioctl may fail with
 *   EFAULT  an address refers to inaccessible memory
 *   EINVAL  size too small, unknown flag or value, or reserved field not 0
 *   E2BIG   size too large, or nonzero fields that this kernel does not know
 *   EINTR   a signal arrived while waiting for another sweep or change, or
 *           because of max_sweep_rate
 *   ENOTTY  unknown command, or command of a feature that INFO does not report
 *
 * Ioctls that interrupt CPUs (SWEEP, CONTROL, ENABLE, DISABLE, RESET, OPEN_SET,
 * SET_EVENTS, JOIN, DETACH, STREAM to start one, and ATTACH once it was started) may
 * also fail with
 *
 *   EAGAIN  O_NONBLOCK is set, and the CPUs would exceed max_sweep_rate
 */
#ifndef _UAPI_LINUX_PERF_METAGROUP_H
#define _UAPI_LINUX_PERF_METAGROUP_H

#include <linux/const.h>
#include <linux/ioctl.h>
#include <linux/types.h>

#define PERF_METAGROUP_DEVICE	"/dev/perf_metagroup"
#define PERF_METAGROUP_ABI	1

/*
 * Formats of read(), see struct perf_metagroup_format. A new handle reads RAW.
 *
 * RAW, in attach order:
 *
 *   raw      := payload*
 *   payload  := what read(2) of that leader returns for its read_format, see
 *               perf_event_open(2); nothing if its status is ERROR or SKIPPED, or
 *               if its group grew beyond max_snapshot, max_events_per_cpu or the
 *               ring of a stream
 *
 * FRAMED, in attach order:
 *
 *   framed   := struct perf_metagroup_snapshot, frame * snapshot.count
 *   frame    := struct perf_metagroup_record, payload, unspecified bytes up to
 *               record.frame
 *
 * Both return the whole snapshot or fail. A failed read loses nothing, because
 * counts are cumulative. readv(2) does a separate read for each buffer. The file
 * has no position: lseek(2) and pread(2) fail with ESPIPE.
 *
 * read(2) returns 0 in RAW format if there is no payload. It fails with
 *
 *   ENOSPC  the buffer is smaller than the snapshot, see INFO
 *   EFAULT  the buffer is not writable memory
 *   EBADF   the handle was opened for writing only
 *   EINTR   a signal arrived while waiting for another sweep or change, or
 *           because of max_sweep_rate
 *   EAGAIN  O_NONBLOCK is set, and the sweep would exceed max_sweep_rate
 *   ENOMEM  no memory
 *
 * and, only in RAW format, where a FRAMED record would be STALE, with
 *
 *   ENOMEM  an event group grew, and there was no memory for it
 *   EAGAIN  a member grew, or was moved to another CPU, during each attempt
 *   other   the error that read(2) of the member returns
 */
#define PERF_METAGROUP_FORMAT_RAW	0
#define PERF_METAGROUP_FORMAT_FRAMED	1

/* perf_metagroup_info.features; a module may be built without QUIET, STREAM, or SET and NAME */
#define PERF_METAGROUP_FEATURE_FRAMED		_BITULL(0)
#define PERF_METAGROUP_FEATURE_SWEEP		_BITULL(1)	/* the ioctl */
#define PERF_METAGROUP_FEATURE_MAP		_BITULL(2)	/* mmap(2) */
#define PERF_METAGROUP_FEATURE_QUIET		_BITULL(3)	/* the mode */
#define PERF_METAGROUP_FEATURE_SKIP_ISOLATED	_BITULL(4)	/* the mode */
#define PERF_METAGROUP_FEATURE_STREAM		_BITULL(5)	/* the ioctl */
#define PERF_METAGROUP_FEATURE_SET		_BITULL(6)	/* OPEN_SET, CONTROL */
#define PERF_METAGROUP_FEATURE_NAME		_BITULL(7)	/* PUBLISH, JOIN */

/* Modes of a meta-group, see struct perf_metagroup_mode. A new one has none. */
#define PERF_METAGROUP_MODE_QUIET		_BITUL(0)
#define PERF_METAGROUP_MODE_SKIP_ISOLATED	_BITUL(1)

/* perf_metagroup_stream.flags */
#define PERF_METAGROUP_STREAM_OVERWRITE		_BITUL(0)	/* keep the newest samples */

/* Limits of perf_metagroup_stream, and the offset of its rings in the file */
#define PERF_METAGROUP_MIN_PERIOD	10000ULL	/* ns */
#define PERF_METAGROUP_MAX_PERIOD	60000000000ULL	/* ns */
#define PERF_METAGROUP_MAX_RING		67108864ULL	/* bytes */
#define PERF_METAGROUP_RINGS		_BITULL(32)

/* perf_metagroup_open_set.flags, and limits */
#define PERF_METAGROUP_SET_TEMPLATES		_BITUL(0)	/* descriptors, not attrs */
#define PERF_METAGROUP_SET_FOLLOW		_BITUL(1)	/* follow CPU hotplug */
#define PERF_METAGROUP_MAX_SET_EVENTS		64
#define PERF_METAGROUP_NO_CPU			0xffffffffU

/* Bytes of a name with its terminating 0, and no particular group */
#define PERF_METAGROUP_NAME_SIZE		64
#define PERF_METAGROUP_NO_GID			0xffffffffU

/* perf_metagroup_map.flags */
#define PERF_METAGROUP_MAP_MOVED		_BITUL(0)	/* map again */

/*
 * Status of a member.
 *
 * OK        counting; the payload was read at perf_metagroup_record.time
 * INACTIVE  enabled, but not on the PMU now: other events use the counters, or
 *           the cgroup is not running on that CPU; the payload is complete
 * OFF       disabled; the payload is complete
 * ERROR     a pinned event could not be put on the PMU; no payload. All events of a
 *           set are pinned, so one such event puts a set member in this state
 * OFFLINE   its CPU went offline, which dissolves event groups permanently, even if
 *           the CPU comes back (but see PERF_METAGROUP_SET_FOLLOW); the payload
 *           is the leader's last count, or the last counts of all events of a set.
 *           A set member is also OFFLINE if a PMU has moved one of its events to
 *           another CPU: the payload is what was last read on its own CPU
 * REVOKED   its PMU was unregistered; the payload is the last counts
 * STALE     the member could not be read in this sweep; no payload
 * IDLE      counting, but its CPU is idle and was not woken (QUIET); the payload
 *           was read when the CPU entered idle, at perf_metagroup_record.time
 * SKIPPED   counting, but only its CPU can read it, and that CPU is not interrupted
 *           (SKIP_ISOLATED); no payload
 */
#define PERF_METAGROUP_OK	0
#define PERF_METAGROUP_INACTIVE	1
#define PERF_METAGROUP_OFF	2
#define PERF_METAGROUP_ERROR	3
#define PERF_METAGROUP_OFFLINE	4
#define PERF_METAGROUP_REVOKED	5
#define PERF_METAGROUP_STALE	6
#define PERF_METAGROUP_IDLE	7
#define PERF_METAGROUP_SKIPPED	8

/**
 * struct perf_metagroup_snapshot - header of a FRAMED read
 * @size:	bytes before the first frame
 * @flags:	0
 * @sequence:	number of sweeps of this meta-group so far, from 1
 * @begin:	start of the sweep, CLOCK_MONOTONIC in ns
 * @end:	end of the sweep, CLOCK_MONOTONIC in ns
 * @count:	number of frames
 * @layout:	in reads of all members, frames have the same offsets as long as
 *		this number does not change
 * @bytes:	length of header and frames
 * @stride:	perf_metagroup_record.frame if it is the same for all, else 0
 * @reserved:	0
 *
 * The first frame begins @size bytes after this header. A later version may
 * enlarge the header: use @size, not sizeof.
 */
struct perf_metagroup_snapshot {
	__u32	size;
	__u32	flags;
	__u64	sequence;
	__u64	begin;
	__u64	end;
	__u32	count;
	__u32	layout;
	__u64	bytes;
	__u32	stride;
	__u32	reserved[3];
};

/**
 * struct perf_metagroup_record - header of a frame
 * @frame:		bytes from this record to the next one
 * @header:		bytes from this record to the payload
 * @status:		PERF_METAGROUP_OK, ...
 * @member:		number of the member, see struct perf_metagroup_attach
 * @cpu:		CPU of the member
 * @time:		when its CPU began to read its members, CLOCK_MONOTONIC in ns
 * @read_format:	read_format of the leader, which describes the payload
 * @size:		bytes of the payload
 *
 * All members that a CPU reads in a sweep have the same @time. The
 * total_time_enabled and total_time_running in their payloads extend to @time; the
 * counts are read one after another from then on. A member that is read from
 * another CPU has its own @time.
 *
 * @time is never after perf_metagroup_snapshot.end. It is before .begin only if
 * the status is IDLE or the CPU was not swept. A later version may enlarge the
 * record: use @header, not sizeof.
 */
struct perf_metagroup_record {
	__u32	frame;
	__u16	header;
	__u16	status;
	__u32	member;
	__u32	cpu;
	__u64	time;
	__u32	read_format;
	__u32	size;
};

/**
 * struct perf_metagroup_set_record - header of the frame of a set member
 * @record:	header of all frames; its @header is the size of this structure
 * @generation:	how many times the events were reopened (FOLLOW) or replaced
 *		(SET_EVENTS)
 * @reserved:	0
 *
 * Unless SET_EVENTS was called, the CPU was offline for a time between two records
 * with different @generation. That time is in neither counts nor times.
 */
struct perf_metagroup_set_record {
	struct perf_metagroup_record record;
	__u32	generation;
	__u32	reserved;
};

/**
 * struct perf_metagroup_map - start of the mapped memory
 * @size:	bytes of this structure
 * @flags:	PERF_METAGROUP_MAP_*
 * @version:	number of snapshots so far; the last one is in copy @version % 2
 * @reserved:	0
 * @offset:	bytes from this structure to each copy
 * @reserved2:	0
 *
 * mmap(2) of the file at offset 0, read-only, shows the last sweep in the layout
 * of a FRAMED read of all members. SWEEP makes a new one without copying.
 * perf_metagroup_info.map_size is the number of bytes that can be mapped.
 *
 * The next sweep writes the other copy and then increments @version, so a reader
 * never waits for a sweep:
 *
 *   do {
 *     v = load-acquire of version
 *     copy the wanted data from offset[v % 2]
 *     fence (acquire)
 *   } while (version != v)
 *
 * The reader then checks @flags: PERF_METAGROUP_MAP_MOVED means that the snapshot has
 * outgrown this memory, which is not written again. If no other task sweeps,
 * attaches or detaches, one pass is enough.
 *
 * After ATTACH and DETACH the snapshot has no frames until the next sweep. A SWEEP
 * of some CPUs keeps the records of the others, with the time of an earlier
 * sweep, or with status STALE and time 0 if there was none since the last ATTACH
 * or DETACH. A mapping keeps the meta-group and its members alive, as an open file
 * does. A stream sweeps by itself when a group has grown or has moved to another
 * CPU.
 *
 * mmap(2) fails with
 *
 *   EINVAL  the offset is neither 0 nor the offset of a ring, see struct
 *           perf_metagroup_stream; or the length exceeds map_size
 *   EPERM   the mapping would be writable
 *   EACCES  the handle was opened for writing only
 *   ENOMEM  no memory
 */
struct perf_metagroup_map {
	__u32	size;
	__u32	flags;
	__u32	version;
	__u32	reserved;
	__u64	offset[2];
	__u64	reserved2[4];
};

/**
 * struct perf_metagroup_info - INFO: properties of the module and the meta-group
 * @size:		in: sizeof(struct)
 * @flags:		in: 0
 * @abi:		out: PERF_METAGROUP_ABI
 * @format:		out: read format of this handle
 * @features:		out: PERF_METAGROUP_FEATURE_*
 * @max_members:	out: limit, members of a meta-group
 * @max_per_cpu:	out: limit, members of a meta-group on one CPU
 * @max_snapshot:	out: limit, bytes of a FRAMED read
 * @members:		out: number of members
 * @cpus:		out: number of CPUs that have members
 * @raw_size:		out: bytes that a RAW read needs
 * @framed_size:	out: bytes that a FRAMED read needs
 * @map_size:		out: bytes that can be mapped
 * @mode:		out: PERF_METAGROUP_MODE_*
 * @max_events_per_cpu:	out: limit, events of a meta-group on one CPU
 */
struct perf_metagroup_info {
	__u32	size;
	__u32	flags;
	__u32	abi;
	__u32	format;
	__u64	features;
	__u32	max_members;
	__u32	max_per_cpu;
	__u64	max_snapshot;
	__u32	members;
	__u32	cpus;
	__u64	raw_size;
	__u64	framed_size;
	__u64	map_size;
	__u32	mode;
	__u32	max_events_per_cpu;
};

/**
 * struct perf_metagroup_attach - ATTACH: make event groups members, all or none
 * @size:	in: sizeof(struct)
 * @flags:	in: 0
 * @fds:	in: address of __s32[@count], descriptors of leaders
 * @count:	in: number of descriptors
 * @first:	out: number of the first new member; the others follow
 * @failed:	out: index of the descriptor that caused the error, else @count
 * @reason:	out: PERF_METAGROUP_REASON_* for that descriptor
 *
 * A group can be attached once, to one meta-group. Numbers increase in attach order
 * and are not reused in that meta-group. The meta-group keeps the leader open, so
 * its descriptor may be closed. It does not keep siblings open: as for read(2), a
 * sibling leaves the group when its last descriptor is closed, and a sibling that
 * is opened later joins the group.
 *
 *   EBADF   a descriptor is not open for reading
 *   EINVAL  a descriptor is not a perf event, or is a sibling, or is bound to a
 *           task, or has an unknown read_format (ATTR); or @count is 0
 *   EBUSY   a group is already a member, of this or another meta-group, or
 *           appears twice in @fds
 *   E2BIG   the limits max_members, max_per_cpu, max_events_per_cpu or
 *           max_snapshot would be exceeded
 *   ENOSPC  no numbers are left
 *   ENOMEM  no memory
 */
struct perf_metagroup_attach {
	__u32	size;
	__u32	flags;
	__u64	fds;
	__u32	count;
	__u32	first;
	__u32	failed;
	__u32	reason;
};

#define PERF_METAGROUP_REASON_NONE		0
#define PERF_METAGROUP_REASON_BAD_FD		1	/* not open for reading */
#define PERF_METAGROUP_REASON_NOT_PERF		2	/* not a perf event */
#define PERF_METAGROUP_REASON_SIBLING		3	/* not a group leader */
#define PERF_METAGROUP_REASON_TASK		4	/* bound to a task, or to no CPU */
#define PERF_METAGROUP_REASON_BUSY		5	/* already a member */
#define PERF_METAGROUP_REASON_PERMISSION	6	/* more than the caller may open */
#define PERF_METAGROUP_REASON_ATTR		7	/* not for counting, or not valid */
#define PERF_METAGROUP_REASON_REFUSED		8	/* by perf or the PMU, on that CPU */
#define PERF_METAGROUP_REASON_NO_COUNTER	9	/* the PMU has none free on that CPU */
#define PERF_METAGROUP_REASON_OTHER_CPU		10	/* the PMU counts it on another CPU */

/**
 * struct perf_metagroup_open_set - OPEN_SET: open events on many CPUs, all or none
 * @size:		in: sizeof(struct)
 * @flags:		in: PERF_METAGROUP_SET_*
 * @events:		in: address of the first struct perf_event_attr; with
 *			PERF_METAGROUP_SET_TEMPLATES, of __s32[@nr_events]: descriptors
 *			of events that were opened with cpu >= 0 and pid == -1
 * @nr_events:		in: number of events, at most PERF_METAGROUP_MAX_SET_EVENTS
 * @stride:		in: bytes from one attr to the next, a multiple of 8; with
 *			PERF_METAGROUP_SET_TEMPLATES, 0
 * @cpus:		in: address of __u64[@nr_words], as in struct
 *			perf_metagroup_sweep; 0 for all online CPUs
 * @nr_words:		in: words at @cpus
 * @first:		out: number of the first new member; the others follow
 * @read_format:	in: PERF_FORMAT_*, with PERF_FORMAT_GROUP
 * @count:		out: number of new members, one for each CPU
 * @failed:		out: index of the event that caused the error, else @nr_events
 * @failed_cpu:		out: CPU on which it failed, else PERF_METAGROUP_NO_CPU
 * @reason:		out: PERF_METAGROUP_REASON_*
 *
 * Each CPU in @cpus becomes a member with these events, in ascending order of CPUs.
 * It is read, listed and detached like a member that was created by ATTACH, and its
 * payload is that of a group with @read_format. Its status is the worst status of its
 * events. Further calls may add sets with other events or CPUs, and perf groups. The
 * events of a member are released by DETACH, or when the meta-group is freed.
 *
 * The events do not form a perf group. Each is pinned and is scheduled on the PMU
 * by itself, so they are not multiplexed: while the status is OK they run all the time,
 * and total_time_running equals total_time_enabled. Both times are those of the first
 * event. All counts and times start at 0 when the call succeeds, at the same moment
 * for all events of a CPU. The call fails with EBUSY unless every event is on the PMU.
 *
 * Events that count the same on the same CPU share one counter of the PMU, whether they
 * belong to one set or several, and to whichever handle. The counter is released by
 * its last user. Each member sees its own counts and times, which do not show what is
 * done to other members. Identifiers are unique, but are not those of perf.
 *
 * With PERF_METAGROUP_SET_FOLLOW, offline CPUs become members as well, with
 * status OFFLINE and counts of 0; if @cpus is 0, all present CPUs do. Soon after
 * a CPU comes online, its events are reopened, and the generation in its record
 * increases. Counts and times continue from their last values, and identifiers stay
 * the same. If the events cannot be reopened, the member stays OFFLINE and GET_MEMBER
 * reports the reason; the next attempt is made when any CPU comes online. At least
 * one CPU must be online. After the PMU of an event of the set was unregistered, no
 * event of the set is reopened.
 *
 * These fields of an attr, or of the attr of a template, are used: type, config, config1
 * and further ones, bp_type, exclude_user, exclude_kernel, exclude_hv, exclude_idle,
 * exclude_host and exclude_guest. The other fields of an attr are checked as
 * perf_event_open(2) checks them, and are otherwise ignored, as are filters and programs
 * of a template. sample_period must be 0. The size field of an attr is handled as in
 * perf_event_open(2), whatever @stride is: bytes that the kernel does not know must be
 * 0. kprobe and uprobe events are not supported. If a template is a generic event of the
 * CPU's own PMU (HARDWARE, HW_CACHE), the event is opened on the own PMU of each CPU,
 * because perf removes the PMU type from its config.
 *
 * The caller must be allowed to open events of CPUs: it has CAP_PERFMON, or
 * perf_event_paranoid is 0 or less. Attrs require CAP_SYS_ADMIN and a kernel that is
 * not locked down against perf. A template was checked when it was opened; it must
 * have been opened by the same user, without capabilities that the caller lacks. All
 * events, including those that are reopened later, are opened with the credentials of
 * the caller.
 *
 *   EACCES  the caller may not open events of CPUs; attrs without CAP_SYS_ADMIN; or a
 *           template was opened by another or a more privileged user
 *   EPERM   attrs, and the kernel is locked down
 *   EBADF   a template is not open for reading
 *   EINVAL  a template is not a perf event, or is bound to a task or a cgroup; an
 *           event samples, or is not valid; its PMU counts it on another CPU; or
 *           @nr_events is 0, @read_format or @stride is not valid, or @cpus is
 *           empty or has impossible CPUs
 *   EBUSY   a PMU has no counter for an event
 *   E2BIG   an attr has fields that the kernel does not know, or its size is invalid,
 *           and its size field was set to that of the kernel; @nr_events is too large;
 *           the user would have more than max_set_events events in sets; or as for
 *           ATTACH
 *   ENODEV  a CPU is not online; with PERF_METAGROUP_SET_FOLLOW, no CPU is online; or
 *           the PMU of a template was unregistered
 *   ENOENT, EOPNOTSUPP and others  as perf_event_open(2) returns for that event
 *   ENOSPC  no numbers are left
 *   ENOMEM  no memory
 */
struct perf_metagroup_open_set {
	__u32	size;
	__u32	flags;
	__u64	events;
	__u32	nr_events;
	__u32	stride;
	__u64	cpus;
	__u32	nr_words;
	__u32	first;
	__u64	read_format;
	__u32	count;
	__u32	failed;
	__u32	failed_cpu;
	__u32	reason;
};

/**
 * struct perf_metagroup_control - CONTROL: start, stop or reset sets with one broadcast
 * @size:	in: sizeof(struct)
 * @flags:	in: 0
 * @op:		in: PERF_METAGROUP_START, _STOP or _RESET
 * @nr_words:	in: words at @cpus
 * @cpus:	in: as in struct perf_metagroup_sweep; 0 for all CPUs
 * @begin:	out: time before the first CPU was interrupted, CLOCK_MONOTONIC in ns
 * @end:	out: time after the last CPU was done
 * @skew:	out: ns between the first CPU and the last one
 * @members:	out: number of members
 * @reserved:	in: 0
 *
 * One broadcast interrupts all CPUs in @cpus that have set members, including idle and
 * isolated CPUs, and each CPU acts on its own members.
 *
 * STOP:   counts and times of a member stay at their current values, with status OFF
 * START:  counts and times continue from these values
 * RESET:  counts become 0; times are not changed
 *
 * The events stay on the PMU and keep counting: other users are not affected, and
 * START never fails for lack of a counter. Members that are already in the requested
 * state, and perf groups, are not changed. ENABLE, DISABLE and RESET do the same to
 * the sets of all CPUs, and then act on perf groups as perf does.
 *
 *   EINVAL  unknown @op; more than 1024 words; an address without a size, or the
 *           reverse
 */
struct perf_metagroup_control {
	__u32	size;
	__u32	flags;
	__u32	op;
	__u32	nr_words;
	__u64	cpus;
	__u64	begin;
	__u64	end;
	__u64	skew;
	__u32	members;
	__u32	reserved;
};

#define PERF_METAGROUP_START	0
#define PERF_METAGROUP_STOP	1
#define PERF_METAGROUP_RESET	2

/**
 * struct perf_metagroup_events - SET_EVENTS, GET_EVENTS: the events of one member
 * @size:	in: sizeof(struct)
 * @flags:	in: SET_EVENTS: PERF_METAGROUP_SET_TEMPLATES, or 0; GET_EVENTS: 0
 * @member:	in: number of a set member
 * @nr_events:	in: number of events at @events; out: number of events of the member
 * @events:	in: SET_EVENTS: as in struct perf_metagroup_open_set; GET_EVENTS: address
 *		of the first struct perf_event_attr to write, or 0 to get @nr_events
 * @stride:	in: bytes from one attr to the next, a multiple of 8
 * @failed:	out: index of the event that caused the error, else @nr_events
 * @reason:	out: PERF_METAGROUP_REASON_*
 * @reserved:	in: 0
 *
 * SET_EVENTS replaces all events of one member, or none of them if it fails. The
 * member keeps its number, its position and its read_format. Its counts and times
 * start at 0, its identifiers are new, and the generation in its record increases.
 * The new events are opened before the old ones are released. Until then, both need
 * counters, except for events that are in both, and both count toward
 * max_set_events. A stopped member stays stopped, and a member that follows CPU
 * hotplug (PERF_METAGROUP_SET_FOLLOW) does so with its new events. Its CPU must be
 * online.
 *
 * GET_EVENTS writes the attrs of the events, with only the fields that are used, in the
 * order of the payload. Their size is that of this kernel's attr, or @stride if that
 * is smaller. Bytes of @stride beyond the attr that the kernel knows are 0.
 *
 *   ENOENT  no such member
 *   EINVAL  the member is a perf group; or as for OPEN_SET
 *   ENOSPC  GET_EVENTS: @nr_events was smaller than the number of events, and was set
 *           to that number
 *   E2BIG   GET_EVENTS: an attr does not fit into @stride
 *   others  SET_EVENTS: as for OPEN_SET
 */
struct perf_metagroup_events {
	__u32	size;
	__u32	flags;
	__u32	member;
	__u32	nr_events;
	__u64	events;
	__u32	stride;
	__u32	failed;
	__u32	reason;
	__u32	reserved;
};

/**
 * struct perf_metagroup_publish - PUBLISH: give the sets of a meta-group a name
 * @size:	in: sizeof(struct)
 * @flags:	in: 0
 * @name:	in: 1 to 63 characters of a-z, A-Z, 0-9, '_', '-' and '.', the first a
 *		letter or digit; padded with bytes of 0
 * @mode:	in: who may JOIN: 0400 the owner, 0040 the group, 0004 all others
 * @gid:	in: the group; the caller must belong to it or have CAP_CHOWN;
 *		PERF_METAGROUP_NO_GID for the caller's effective group
 *
 * The name refers to the current events and CPUs of all sets of the meta-group, but not
 * to its perf groups. It keeps these events on the PMU until UNPUBLISH, even if the
 * handle is closed or its process exits. The owner is the caller's effective user.
 * Later changes of the meta-group do not affect the name.
 *
 * /sys/class/perf_metagroup/<name> describes the name, and udev events are sent when it
 * is added and removed. The module cannot be unloaded while names exist.
 *
 *   EPERM   the caller does not have CAP_PERFMON, or may not use @gid
 *   EINVAL  @name, @mode or @gid is not valid, or the meta-group has no sets
 *   EEXIST  the name already exists
 *   ENOSPC  max_names names already exist
 *   ENODEV, EBUSY  an event of a set is no longer on the PMU, and cannot be reopened,
 *           as for OPEN_SET, or must not be because its PMU was unregistered
 *   ENOMEM  no memory
 */
struct perf_metagroup_publish {
	__u32	size;
	__u32	flags;
	char	name[PERF_METAGROUP_NAME_SIZE];
	__u32	mode;
	__u32	gid;
};

/**
 * struct perf_metagroup_name - JOIN, UNPUBLISH: use a name, or remove it
 * @size:	in: sizeof(struct)
 * @flags:	in: 0
 * @name:	in: as in struct perf_metagroup_publish
 * @first:	out: JOIN: number of the first new member; the others follow
 * @count:	out: JOIN: number of new members, one for each CPU of each set
 *
 * JOIN adds the events of a name to the meta-group of the caller, as OPEN_SET does. It
 * shares their counters, or opens them with the credentials of the task that opened
 * the sets. Counts and times start at 0. JOIN requires only permission for the name,
 * which the @mode of PUBLISH gives to the owner, or else members of the group, or else
 * all others, as for reading a file. CAP_PERFMON overrides it. What one user of a name
 * does, including START, STOP and SET_EVENTS, does not affect the others. If the sets
 * have PERF_METAGROUP_SET_FOLLOW, offline CPUs become members as well, even if all CPUs
 * are offline; otherwise, all CPUs must be online.
 *
 * The events of a name are charged to no user. The events of a caller that joins
 * without CAP_PERFMON count toward max_set_events.
 *
 * UNPUBLISH removes a name. Meta-groups that have joined it keep the events. Only the
 * owner and callers with CAP_PERFMON may remove a name.
 *
 *   ENOENT  no such name
 *   EACCES  the caller does not have permission
 *   EINVAL  @name is not valid
 *   ENODEV  JOIN: the PMU of an event was unregistered; or as for OPEN_SET
 *   EBUSY, E2BIG, ENOSPC, ENOMEM  JOIN: as for OPEN_SET
 */
struct perf_metagroup_name {
	__u32	size;
	__u32	flags;
	char	name[PERF_METAGROUP_NAME_SIZE];
	__u32	first;
	__u32	count;
};

/**
 * struct perf_metagroup_detach - DETACH: remove one member
 * @size:	in: sizeof(struct)
 * @flags:	in: 0
 * @member:	in: number of the member
 * @reserved:	in: 0
 *
 * The other members keep their numbers and order.
 *
 *   ENOENT  no such member
 */
struct perf_metagroup_detach {
	__u32	size;
	__u32	flags;
	__u32	member;
	__u32	reserved;
};

/**
 * struct perf_metagroup_format - SET_FORMAT: choose what read() of this handle returns
 * @size:	in: sizeof(struct)
 * @flags:	in: 0
 * @format:	in: PERF_METAGROUP_FORMAT_*
 * @reserved:	in: 0
 *
 *   EINVAL  unknown format
 */
struct perf_metagroup_format {
	__u32	size;
	__u32	flags;
	__u32	format;
	__u32	reserved;
};

/**
 * struct perf_metagroup_member - GET_MEMBER: describe one member, without a sweep
 * @size:		in: sizeof(struct)
 * @flags:		in: 0
 * @member:		in: number of the member
 * @cpu:		out: its CPU
 * @status:		out: PERF_METAGROUP_OK, ...
 * @events:		out: number of events in the group
 * @read_format:	out: read_format of the leader
 * @payload:		out: bytes of its payload
 * @max_ids:		in: entries at @ids
 * @ids:		in: address of __u64[@max_ids], or 0; receives the identifiers
 *			(PERF_EVENT_IOC_ID) of the events, the leader first
 * @generation:		out: as in struct perf_metagroup_set_record, else 0
 * @error:		out: errno of the last attempt to reopen its events, or 0
 * @failed:		out: index of the event that caused the error, else @events
 * @reason:		out: PERF_METAGROUP_REASON_* for that event
 * @users:		out: number of members, in all sets and names, that share the
 *			most widely shared of its events; 0 for a group
 * @reserved:		out: 0
 *
 *   ENOENT  no such member
 *   EAGAIN  it was moved to another CPU during each attempt
 *   ENOMEM  no memory
 */
struct perf_metagroup_member {
	__u32	size;
	__u32	flags;
	__u32	member;
	__u32	cpu;
	__u32	status;
	__u32	events;
	__u64	read_format;
	__u32	payload;
	__u32	max_ids;
	__u64	ids;
	__u32	generation;
	__u32	error;
	__u32	failed;
	__u32	reason;
	__u32	users;
	__u32	reserved;
};

/**
 * struct perf_metagroup_sweep - SWEEP: sweep CPUs, and optionally copy the result
 * @size:		in: sizeof(struct)
 * @flags:		in: 0
 * @cpus:		in: address of __u64[@nr_words], or 0 for all CPUs; CPU n is
 *			bit n % 64 of word n / 64
 * @nr_words:		in: words at @cpus
 * @reserved:		in: 0
 * @buffer:		in: address that receives what read() would return, or 0
 * @buffer_size:	in: bytes at @buffer
 *
 * Only members on the CPUs in @cpus are brought up to date and copied. If the address
 * of the structure is 0, all CPUs are swept and nothing is copied.
 *
 * Returns the number of bytes copied, or fails as read() does or with
 *
 *   EINVAL  more than 1024 words; an address without a size, or the reverse
 *   EBADF   @buffer is not 0, and the handle was opened for writing only
 */
struct perf_metagroup_sweep {
	__u32	size;
	__u32	flags;
	__u64	cpus;
	__u32	nr_words;
	__u32	reserved;
	__u64	buffer;
	__u64	buffer_size;
};

/**
 * struct perf_metagroup_mode - SET_MODE: choose CPUs that sweeps do not interrupt
 * @size:	in: sizeof(struct)
 * @flags:	in: 0
 * @mode:	in: PERF_METAGROUP_MODE_*, or 0
 * @reserved:	in: 0
 *
 * In all modes a sweep interrupts a CPU only if it has a counting member that no other
 * CPU can read. All other members are read from the CPU of the caller: members
 * that do not count; groups of software events, tracepoints and breakpoints, but
 * not cpu-clock and task-clock; and groups of events that any CPU of their
 * package, die or core can read, if the caller runs there.
 *
 * QUIET: idle CPUs are not woken. They read their members when they enter idle, and
 * sweeps return these counts with status IDLE. Counts from interrupts that arrive
 * while the CPU is idle appear when it enters idle again or is read while busy. An
 * idle CPU is interrupted as in normal mode if it has a counting member
 *   - whose counts continue while the CPU is idle, and which cannot be read from the
 *     CPU of the caller. Only counts of the CPU's own PMU stop in idle; those of
 *     uncore, RAPL, cstate, msr, cpu-clock and task-clock do not;
 *   - beyond the limits of 64 members on the CPU and 64 events that need to be read
 *     there, which apply to all quiet meta-groups together;
 *   - of a meta-group that was not swept in the second before the CPU entered idle.
 *
 * SKIP_ISOLATED: CPUs that are isolated from the scheduler's tick (nohz_full=) or
 * from load balancing (isolcpus=) when the mode is set are not interrupted.
 * Members that only such a CPU can read have status SKIPPED.
 *
 *   EUSERS  QUIET: 64 meta-groups and streams are already quiet
 *   ENOMEM  no memory
 */
struct perf_metagroup_mode {
	__u32	size;
	__u32	flags;
	__u32	mode;
	__u32	reserved;
};

/**
 * struct perf_metagroup_stream - STREAM: start or stop sampling at common deadlines
 * @size:	in: sizeof(struct)
 * @flags:	in: PERF_METAGROUP_STREAM_*
 * @period:	in: ns between two deadlines, 10 us to 60 s; 0 stops the stream, and then
 *		@flags, @ring_size and @watermark must be 0
 * @ring_size:	in: bytes of data in the ring of each CPU: a power of two, at least a
 *		page, at most 64 MiB
 * @watermark:	in: bytes in a ring that make it readable for poll(2); 0 for half of
 *		@ring_size
 * @first:	out: first deadline, CLOCK_MONOTONIC in ns
 * @map_offset:	out: file offset of the ring of CPU 0, PERF_METAGROUP_RINGS
 * @map_stride:	out: bytes from there to the ring of the next CPU
 * @lost:	out, on a stop: lost deadlines of all CPUs that no ring reports
 *
 * Each CPU with members has a timer that expires at multiples of @period on
 * CLOCK_MONOTONIC, so all CPUs and all streams with the same period share their
 * deadlines. The CPU then reads its members and appends one PERF_RECORD_SAMPLE for
 * each to its ring. The format is that of perf_event_open(2) with
 *
 *   sample_type    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
 *                  PERF_SAMPLE_READ
 *   sample_id_all  1
 *   clockid        CLOCK_MONOTONIC
 *
 * IDENTIFIER is that of the leader, and READ is what read(2) of the leader would
 * return. TIME is the same for all members: the time at which the CPU began to read
 * them. TIME % @period is therefore how late the timer was.
 *
 * All samples of a CPU for one deadline are written, or none. Deadlines are not
 * shifted. After n deadlines of the CPU without samples, one PERF_RECORD_LOST_SAMPLES
 * for each member, with its IDENTIFIER and lost = n, precedes the next samples, even
 * for a member that was attached after some of them. Deadlines are lost if the ring
 * is full, if the timer was late by @period or more, or if all streams together would
 * use more of the CPU's time than the module parameter max_stream_percent allows. A
 * member that cannot be read at a deadline has a record with lost = 1 in place of its
 * sample.
 *
 * Offline CPUs have no deadlines. In mode QUIET, a CPU that is idle at a deadline takes
 * samples, and then has no deadlines until it leaves idle. In mode SKIP_ISOLATED,
 * isolated CPUs have no deadlines. The mode that is set when the stream starts applies
 * until it stops.
 *
 * mmap(2) of @map_stride bytes at @map_offset + n * @map_stride maps the ring of
 * CPU n in the layout of a perf event's: struct perf_event_mmap_page in the first page,
 * with data_head, data_tail, data_offset and data_size, then the data. With
 * PERF_METAGROUP_STREAM_OVERWRITE the ring is written backward, as with
 * perf_event_attr.write_backward: the newest record is at data_head. data_tail is
 * not used, and poll(2) does not report data.
 *
 * poll(2) returns EPOLLIN while a ring has @watermark bytes or more, or has records
 * after which deadlines were lost, and EPOLLHUP alone when the stream has stopped. Each
 * start allocates new rings. After a stop, mapped rings stay until they are unmapped. A
 * child of fork(2) does not inherit the mappings of rings.
 *
 * Rings are charged as perf charges its buffers: first to the user who opened the
 * handle, up to max_ring_kb (a module parameter) for each online CPU, then to the
 * process that started the stream, up to its RLIMIT_MEMLOCK. There is no limit if the
 * handle was opened with CAP_PERFMON or the stream was started with CAP_IPC_LOCK.
 *
 * A stream belongs to the handle and stops when the handle is closed. Members may be
 * attached and detached while it runs, and ENABLE, DISABLE and RESET act at the next
 * deadline. Sweeps are not affected. CLOCK_MONOTONIC cannot be set, and stops while the
 * system is suspended, so there are no deadlines then.
 *
 *   EBUSY   a stream of this handle is running
 *   ENOSPC  the samples of one deadline of a CPU exceed @ring_size
 *   EPERM   the rings exceed max_ring_kb and RLIMIT_MEMLOCK
 *   EINTR   the process is being killed
 *   EUSERS  the user opened the handle without CAP_PERFMON and already has 64 running
 *           streams; or 64 meta-groups and streams are already quiet
 *   ENOMEM  no memory
 *
 * While the stream runs, ATTACH, OPEN_SET and JOIN may also fail with ENOSPC or EPERM,
 * and SET_EVENTS with ENOSPC. A group that grows beyond its ring is not sampled.
 *
 * mmap(2) of a ring fails with
 *
 *   ENODEV  the CPU has no ring, or the stream has stopped
 *   EINVAL  the length exceeds @map_stride, or the mapping is private
 *   EACCES  the handle was not opened for reading and writing
 *   ENOMEM  no memory
 */
struct perf_metagroup_stream {
	__u32	size;
	__u32	flags;
	__u64	period;
	__u64	ring_size;
	__u64	watermark;
	__u64	first;
	__u64	map_offset;
	__u64	map_stride;
	__u64	lost;
};

#define PERF_METAGROUP_IOC_INFO		_IO(0xBD, 0) /* perf_metagroup_info */
#define PERF_METAGROUP_IOC_ATTACH	_IO(0xBD, 1) /* perf_metagroup_attach */
#define PERF_METAGROUP_IOC_DETACH	_IO(0xBD, 2) /* perf_metagroup_detach */
#define PERF_METAGROUP_IOC_SET_FORMAT	_IO(0xBD, 3) /* perf_metagroup_format */
#define PERF_METAGROUP_IOC_GET_MEMBER	_IO(0xBD, 4) /* perf_metagroup_member */

/*
 * PERF_EVENT_IOC_ENABLE, _DISABLE and _RESET with PERF_IOC_FLAG_GROUP for each
 * member, that is, leader and siblings. The argument is 0. All members are tried;
 * the first error is returned.
 *
 * The events of a set keep counting: after DISABLE its members show the same counts
 * and times, with status OFF, and ENABLE continues from there.
 *
 *   ENODEV  the PMU of a member was unregistered
 *   EACCES  a security module denies it
 */
#define PERF_METAGROUP_IOC_ENABLE	_IO(0xBD, 5)
#define PERF_METAGROUP_IOC_DISABLE	_IO(0xBD, 6)
#define PERF_METAGROUP_IOC_RESET	_IO(0xBD, 7)

#define PERF_METAGROUP_IOC_SWEEP	_IO(0xBD, 8) /* perf_metagroup_sweep, or 0 */
#define PERF_METAGROUP_IOC_SET_MODE	_IO(0xBD, 9) /* perf_metagroup_mode */
#define PERF_METAGROUP_IOC_STREAM	_IO(0xBD, 10) /* perf_metagroup_stream */
#define PERF_METAGROUP_IOC_OPEN_SET	_IO(0xBD, 11) /* perf_metagroup_open_set */
#define PERF_METAGROUP_IOC_CONTROL	_IO(0xBD, 12) /* perf_metagroup_control */
#define PERF_METAGROUP_IOC_SET_EVENTS	_IO(0xBD, 13) /* perf_metagroup_events */
#define PERF_METAGROUP_IOC_GET_EVENTS	_IO(0xBD, 14) /* perf_metagroup_events */
#define PERF_METAGROUP_IOC_PUBLISH	_IO(0xBD, 15) /* perf_metagroup_publish */
#define PERF_METAGROUP_IOC_JOIN		_IO(0xBD, 16) /* perf_metagroup_name */
#define PERF_METAGROUP_IOC_UNPUBLISH	_IO(0xBD, 17) /* perf_metagroup_name */

/*
 * Sizes of the first version: the smallest size that is accepted or, for
 * snapshot, record and map, returned.
 */
#define PERF_METAGROUP_SNAPSHOT_SIZE_VER1	64
#define PERF_METAGROUP_RECORD_SIZE_VER1		32
#define PERF_METAGROUP_SET_RECORD_SIZE_VER1	40
#define PERF_METAGROUP_MAP_SIZE_VER1		64
#define PERF_METAGROUP_INFO_SIZE_VER1		80
#define PERF_METAGROUP_ATTACH_SIZE_VER1		32
#define PERF_METAGROUP_DETACH_SIZE_VER1		16
#define PERF_METAGROUP_FORMAT_SIZE_VER1		16
#define PERF_METAGROUP_MEMBER_SIZE_VER1		48
#define PERF_METAGROUP_MEMBER_SIZE_VER2		72	/* generation to reserved */
#define PERF_METAGROUP_SWEEP_SIZE_VER1		40
#define PERF_METAGROUP_MODE_SIZE_VER1		16
#define PERF_METAGROUP_STREAM_SIZE_VER1		64
#define PERF_METAGROUP_OPEN_SET_SIZE_VER1	64
#define PERF_METAGROUP_CONTROL_SIZE_VER1	56
#define PERF_METAGROUP_EVENTS_SIZE_VER1		40
#define PERF_METAGROUP_PUBLISH_SIZE_VER1	80
#define PERF_METAGROUP_NAME_SIZE_VER1		80

#endif /* _UAPI_LINUX_PERF_METAGROUP_H */
