/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * Perf meta-groups: the counters of many CPUs with one read().
 *
 * A meta-group holds perf event groups ("members"), each bound to one CPU.
 * One read() of its file brings all of them up to date with one broadcast and
 * returns what a read(2) of each member's leader would have returned.
 *
 *   int mg = open("/dev/perf_metagroup", O_RDWR | O_CLOEXEC);
 *   ioctl(mg, PERF_METAGROUP_IOC_ATTACH, &attach);   // perf fds of leaders
 *   read(mg, buf, size);                             // one sweep
 *
 * Every open() makes a new, empty meta-group. A duplicated, inherited or
 * passed descriptor is the same handle: same members, same read format. Whoever
 * has it may read and control the members, attach and detach; whoever has a
 * leader's descriptor may attach it.
 *
 * Members
 *   A member is the leader of an event group, opened with cpu >= 0 and
 *   pid == -1. It is attached once, to one meta-group, and numbered; numbers
 *   rise in attach order and are never used again in that meta-group. The
 *   meta-group holds the leader open: its descriptor may be closed. Siblings
 *   are not held: a sibling leaves the group when its last descriptor is
 *   closed, and one that is opened later joins it, as for read(2).
 *
 * Sweep
 *   Every CPU that has a running member is interrupted once, all at the same
 *   time; each brings its own members up to date. CPUs without a running
 *   member are not interrupted. Sweeps of one meta-group exclude each other.
 *   SET_MODE spares more CPUs; the ioctl SWEEP can be told which to read.
 *
 * Layout of a RAW read, in attach order:
 *
 *   raw      := payload*
 *   payload  := what read(2) of that leader returns for its read_format, see
 *               perf_event_open(2); nothing if its state is error
 *
 * Layout of a FRAMED read. "begin" and "end" enclose the sweep, "time" is when
 * that CPU was read; all three are CLOCK_MONOTONIC in nanoseconds. For a member
 * that was not running "time" is taken on the CPU of the reader.
 *
 *   framed   := struct perf_metagroup_snapshot, frame * snapshot.count
 *   frame    := struct perf_metagroup_record, payload, unspecified bytes up to
 *               snapshot.stride, which is the same for all frames of a read
 *
 *   Frame i begins at byte snapshot.size + i * snapshot.stride. Its payload
 *   begins record.header bytes further on and is record.size bytes long.
 *   A later version may enlarge both headers: use these fields, not sizeof.
 *
 * Mapped
 *   mmap(2) of the file at offset 0, read-only, shows the snapshot of the last
 *   sweep in the layout of a FRAMED read, and SWEEP renews it without copying.
 *   INFO tells how many bytes there are (framed_size). While the snapshot is
 *   written, "version" is odd. So, if others may sweep meanwhile, a reader
 *
 *     do {
 *       v = load-acquire of version
 *       copy what is of interest
 *       fence (acquire)
 *     } while (v is odd, or version is not v any more)
 *
 *   and then looks at "flags": with PERF_METAGROUP_SNAPSHOT_MOVED this memory
 *   will not be written again, because the snapshot outgrew it: map anew. Map
 *   anew too if "count" frames are more than was mapped.
 *   A record with "time" before "begin" was not renewed by the last sweep.
 *   A mapping keeps the meta-group and its members, as an open file does.
 *
 * Both reads return the whole snapshot or fail; counts are cumulative, so that
 * nothing is lost by a failed read. readv(2) reads each of its buffers by
 * itself. The file cannot be positioned: lseek(2), pread(2) give ESPIPE.
 *
 * read(2) fails with
 *   ENOSPC  the buffer is smaller than the snapshot (see INFO)
 *   EFAULT  the buffer is not writable memory
 *   EINTR   a signal came while another sweep or change was under way
 *   ENOMEM  an event group grew and no memory for it was left
 *   E2BIG   an event group grew and the snapshot would exceed max_snapshot
 *   EAGAIN  RAW: a member grew, or was being moved to another CPU, all the while
 *   other   RAW: the error that read(2) of a member gives (its PMU's)
 * and returns 0 in RAW format if there is no payload. mmap(2) fails with
 *   EINVAL  the offset is not 0, or there is not as much as that
 *   EPERM   the mapping would be writable
 *   ENOMEM  no memory
 *
 * Structures
 *   The caller sets the first field to sizeof(struct) and all reserved fields
 *   and unused flags to 0. A larger structure than the kernel knows is accepted
 *   if what the kernel does not know is 0 (else E2BIG); a smaller one works if
 *   it is not smaller than the first version. No field is a pointer type: the
 *   layout is the same for 32-bit and 64-bit callers.
 *
 * Every ioctl may fail with
 *   EFAULT  a pointer does not lead to accessible memory
 *   EINVAL  size too small, unknown flag or value, reserved field not 0
 *   E2BIG   size too large, or nonzero fields that this kernel does not know
 *   EINTR   a signal came while waiting for a sweep or change under way
 *   ENOTTY  no such command
 */
#ifndef _UAPI_LINUX_PERF_METAGROUP_H
#define _UAPI_LINUX_PERF_METAGROUP_H

#include <linux/const.h>
#include <linux/ioctl.h>
#include <linux/types.h>

#ifndef __KERNEL__
#include <assert.h>
#endif

#define PERF_METAGROUP_DEVICE	"/dev/perf_metagroup"
#define PERF_METAGROUP_ABI	1

/* Formats of read(), see SET_FORMAT. A new handle reads RAW. */
#define PERF_METAGROUP_FORMAT_RAW	0
#define PERF_METAGROUP_FORMAT_FRAMED	1

/* perf_metagroup_info.features */
#define PERF_METAGROUP_FEATURE_FRAMED		_BITULL(0)
#define PERF_METAGROUP_FEATURE_SWEEP		_BITULL(1)	/* the ioctl */
#define PERF_METAGROUP_FEATURE_MAP		_BITULL(2)	/* mmap(2) */
#define PERF_METAGROUP_FEATURE_QUIET		_BITULL(3)	/* the mode */
#define PERF_METAGROUP_FEATURE_SPARE_ISOLATED	_BITULL(4)	/* the mode */

/* Modes of a meta-group, see SET_MODE. A new one has none. */
#define PERF_METAGROUP_MODE_QUIET		_BITUL(0)
#define PERF_METAGROUP_MODE_SPARE_ISOLATED	_BITUL(1)

/* perf_metagroup_snapshot.flags */
#define PERF_METAGROUP_SNAPSHOT_MOVED		_BITUL(0)	/* mapped: map anew */

/*
 * What a record says of its member.
 *
 * OK        running; the payload was read on the member's CPU
 * INACTIVE  enabled, but not on the PMU now: the counters are taken by other
 *           events, or the cgroup does not run there; the payload is complete
 * OFF       disabled; the payload is complete
 * ERROR     a pinned event that could not be put on the PMU; no payload
 * OFFLINE   its CPU went offline, which dissolves event groups for good, also
 *           when the CPU comes back; the payload is the leader's last count
 * REVOKED   its PMU was unregistered; the payload is the last counts
 * STALE     could not be read this time; no payload
 * IDLE      running, but its CPU sleeps and was not woken (QUIET); the payload
 *           was read when the CPU fell asleep, at "time"
 * SPARED    its CPU is not to be interrupted (SPARE_ISOLATED); no payload
 */
#define PERF_METAGROUP_OK	0
#define PERF_METAGROUP_INACTIVE	1
#define PERF_METAGROUP_OFF	2
#define PERF_METAGROUP_ERROR	3
#define PERF_METAGROUP_OFFLINE	4
#define PERF_METAGROUP_REVOKED	5
#define PERF_METAGROUP_STALE	6
#define PERF_METAGROUP_IDLE	7
#define PERF_METAGROUP_SPARED	8

/* Start of a FRAMED read. */
struct perf_metagroup_snapshot {
	__u32	size;		/* bytes before the first frame */
	__u32	flags;		/* PERF_METAGROUP_SNAPSHOT_*; 0 in a read() */
	__u64	sequence;	/* sweeps of this meta-group so far, from 1 */
	__u64	begin;		/* ns */
	__u64	end;		/* ns */
	__u32	count;		/* frames */
	__u32	stride;		/* bytes from one frame to the next */
	__u32	version;	/* mapped: odd while it is written, see above */
	__u32	reserved[5];	/* 0 */
};

/* Start of a frame. */
struct perf_metagroup_record {
	__u32	header;		/* bytes before the payload */
	__u32	member;		/* number given by ATTACH */
	__u32	cpu;		/* CPU of the member */
	__u32	status;		/* PERF_METAGROUP_OK, … */
	__u64	time;		/* ns */
	__u32	read_format;	/* of the leader: how to decode the payload */
	__u32	size;		/* bytes of payload */
};

/* INFO: what this module can do, and the state of this meta-group. */
struct perf_metagroup_info {
	__u32	size;
	__u32	flags;		/* in: 0 */
	__u32	abi;		/* out: PERF_METAGROUP_ABI */
	__u32	format;		/* out: read format of this handle */
	__u64	features;	/* out: PERF_METAGROUP_FEATURE_* */
	__u32	max_members;	/* out: limit, members of a meta-group */
	__u32	max_per_cpu;	/* out: limit, members on one CPU */
	__u64	max_snapshot;	/* out: limit, bytes of a FRAMED read */
	__u32	members;	/* out: members now */
	__u32	cpus;		/* out: CPUs with members now */
	__u64	raw_size;	/* out: bytes that a RAW read needs now */
	__u64	framed_size;	/* out: bytes that a FRAMED read needs now */
	__u32	mode;		/* out: PERF_METAGROUP_MODE_* of this meta-group */
	__u32	reserved;	/* out: 0 */
};

/*
 * ATTACH: make the leaders behind 'count' perf descriptors members, all or none.
 *
 *   EBADF   a descriptor is not open for reading
 *   EINVAL  a descriptor is not a perf event; or a sibling; or task-bound;
 *           count is 0
 *   EBUSY   a group is a member already, of this or another meta-group, or
 *           stands twice in the array
 *   E2BIG   there would be more than max_members members, more than
 *           max_per_cpu on one CPU, or a snapshot larger than max_snapshot
 *   ENOSPC  the numbers of members are used up
 *   ENOMEM  no memory
 *
 * If one descriptor is to blame, 'failed' is its index and 'reason' says what
 * is wrong with it; else 'failed' is 'count' and 'reason' is 0.
 */
struct perf_metagroup_attach {
	__u32	size;
	__u32	flags;		/* in: 0 */
	__u64	fds;		/* in: address of __s32[count] */
	__u32	count;		/* in */
	__u32	first;		/* out: number of the first; the others follow */
	__u32	failed;		/* out: see above */
	__u32	reason;		/* out: PERF_METAGROUP_REASON_* */
};

#define PERF_METAGROUP_REASON_NONE		0
#define PERF_METAGROUP_REASON_BAD_FD		1	/* not open for reading */
#define PERF_METAGROUP_REASON_NOT_PERF		2	/* not a perf event */
#define PERF_METAGROUP_REASON_SIBLING		3	/* not a group leader */
#define PERF_METAGROUP_REASON_TASK		4	/* bound to a task, or to no CPU */
#define PERF_METAGROUP_REASON_BUSY		5	/* a member already */

/*
 * DETACH: let go of one member; the others keep their numbers and order.
 *
 *   ENOENT  no such member
 */
struct perf_metagroup_detach {
	__u32	size;
	__u32	flags;		/* in: 0 */
	__u32	member;		/* in */
	__u32	reserved;	/* in: 0 */
};

/* SET_FORMAT: how read() of this handle answers. EINVAL: unknown format. */
struct perf_metagroup_format {
	__u32	size;
	__u32	flags;		/* in: 0 */
	__u32	format;		/* in: PERF_METAGROUP_FORMAT_* */
	__u32	reserved;	/* in: 0 */
};

/*
 * GET_MEMBER: what is known of one member, without a sweep.
 *
 * The identifiers (PERF_EVENT_IOC_ID) of its events, the leader's first, are
 * written to 'ids', 'max_ids' of them at most.
 *
 *   ENOENT  no such member
 *   EAGAIN  it was being moved to another CPU all the while
 *   ENOMEM  no memory
 */
struct perf_metagroup_member {
	__u32	size;
	__u32	flags;		/* in: 0 */
	__u32	member;		/* in: number */
	__u32	cpu;		/* out */
	__u32	status;		/* out: PERF_METAGROUP_OK, … */
	__u32	events;		/* out: number of events */
	__u64	read_format;	/* out: of the leader */
	__u32	payload;	/* out: bytes of payload now */
	__u32	max_ids;	/* in */
	__u64	ids;		/* in: address of __u64[max_ids], or 0 */
};

/*
 * SWEEP: one sweep, and a copy of what it found, if wanted.
 *
 * 'cpus' is the address of 'nr_words' words: CPU n is bit n % 64 of word n / 64.
 * Only members on these CPUs are brought up to date and copied. 0 (and no
 * words): all CPUs. 'buffer' gets what a read() of the handle would; 0 (and no
 * size): nothing is copied, see mmap. In place of the structure's address, 0
 * means neither. Returns the number of bytes copied, or fails as read() does.
 *
 *   EINVAL  more than 1024 words; an address without size, or the reverse
 *   EBADF   a buffer, and the handle was opened for writing only
 */
struct perf_metagroup_sweep {
	__u32	size;
	__u32	flags;		/* in: 0 */
	__u64	cpus;		/* in: address of __u64[nr_words], or 0 */
	__u32	nr_words;	/* in */
	__u32	reserved;	/* in: 0 */
	__u64	buffer;		/* in: address, or 0 */
	__u64	buffer_size;	/* in: bytes */
};

/*
 * SET_MODE: which CPUs the sweeps of this meta-group leave alone.
 *
 * QUIET           CPUs that sleep are not woken. Their members are read as they
 *                 fall asleep; sweeps return that, status IDLE. What interrupts
 *                 cause while a CPU sleeps on is seen when it falls asleep anew
 *                 or is read awake.
 * SPARE_ISOLATED  CPUs that are isolated from the scheduler's tick (nohz_full=)
 *                 or from load balancing (isolcpus=) now are not interrupted;
 *                 their members are not read, status SPARED.
 *
 *   EUSERS  QUIET: 64 meta-groups are quiet already
 *   ENOMEM  no memory
 */
struct perf_metagroup_mode {
	__u32	size;
	__u32	flags;		/* in: 0 */
	__u32	mode;		/* in: PERF_METAGROUP_MODE_*, or 0 */
	__u32	reserved;	/* in: 0 */
};

#define PERF_METAGROUP_IOC_INFO		_IO(0xBD, 0) /* perf_metagroup_info */
#define PERF_METAGROUP_IOC_ATTACH	_IO(0xBD, 1) /* perf_metagroup_attach */
#define PERF_METAGROUP_IOC_DETACH	_IO(0xBD, 2) /* perf_metagroup_detach */
#define PERF_METAGROUP_IOC_SET_FORMAT	_IO(0xBD, 3) /* perf_metagroup_format */
#define PERF_METAGROUP_IOC_GET_MEMBER	_IO(0xBD, 4) /* perf_metagroup_member */

/*
 * The same as PERF_EVENT_IOC_ENABLE, _DISABLE and _RESET with
 * PERF_IOC_FLAG_GROUP on every member: leaders and siblings. The argument is 0.
 * All members are tried; the first error is returned.
 *
 *   ENODEV  the PMU of a member is gone
 *   EACCES  a security module refuses
 */
#define PERF_METAGROUP_IOC_ENABLE	_IO(0xBD, 5)
#define PERF_METAGROUP_IOC_DISABLE	_IO(0xBD, 6)
#define PERF_METAGROUP_IOC_RESET	_IO(0xBD, 7)

#define PERF_METAGROUP_IOC_SWEEP	_IO(0xBD, 8) /* perf_metagroup_sweep, or 0 */
#define PERF_METAGROUP_IOC_SET_MODE	_IO(0xBD, 9) /* perf_metagroup_mode */

/*
 * Sizes: the first is the least that is accepted, and in records and snapshot
 * headers the least that is returned; INFO has grown since.
 */
#define PERF_METAGROUP_SNAPSHOT_SIZE_VER1	64
#define PERF_METAGROUP_RECORD_SIZE_VER1		32
#define PERF_METAGROUP_INFO_SIZE_VER1		64
#define PERF_METAGROUP_INFO_SIZE_VER2		72	/* + mode */
#define PERF_METAGROUP_ATTACH_SIZE_VER1		32
#define PERF_METAGROUP_DETACH_SIZE_VER1		16
#define PERF_METAGROUP_FORMAT_SIZE_VER1		16
#define PERF_METAGROUP_MEMBER_SIZE_VER1		48
#define PERF_METAGROUP_SWEEP_SIZE_VER1		40
#define PERF_METAGROUP_MODE_SIZE_VER1		16

#define _PERF_METAGROUP_SIZE(type, bytes)				\
	static_assert(sizeof(struct perf_metagroup_##type) == (bytes), #type)
_PERF_METAGROUP_SIZE(snapshot, PERF_METAGROUP_SNAPSHOT_SIZE_VER1);
_PERF_METAGROUP_SIZE(record, PERF_METAGROUP_RECORD_SIZE_VER1);
_PERF_METAGROUP_SIZE(info, PERF_METAGROUP_INFO_SIZE_VER2);
_PERF_METAGROUP_SIZE(attach, PERF_METAGROUP_ATTACH_SIZE_VER1);
_PERF_METAGROUP_SIZE(detach, PERF_METAGROUP_DETACH_SIZE_VER1);
_PERF_METAGROUP_SIZE(format, PERF_METAGROUP_FORMAT_SIZE_VER1);
_PERF_METAGROUP_SIZE(member, PERF_METAGROUP_MEMBER_SIZE_VER1);
_PERF_METAGROUP_SIZE(sweep, PERF_METAGROUP_SWEEP_SIZE_VER1);
_PERF_METAGROUP_SIZE(mode, PERF_METAGROUP_MODE_SIZE_VER1);
#undef _PERF_METAGROUP_SIZE

#endif /* _UAPI_LINUX_PERF_METAGROUP_H */
