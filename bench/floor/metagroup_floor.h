/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The minimum cost of interrupting CPUs to read them, with a broadcast and a timer that
 * do nothing, and of opening events in the kernel. For benchmarks.
 *
 * write(2) sets the CPUs, as text (0-3,8), for all files.
 * BROADCAST calls an empty function on these CPUs and waits until it has run on all.
 * TIMERS starts a timer on each of these CPUs that expires at multiples of the argument,
 * in nanoseconds on CLOCK_MONOTONIC. It replaces earlier timers; the argument 0 or
 * close(2) stops them.
 * EXPIRIES returns how many times the timers have expired in total, modulo 2^31.
 * OPEN opens kernel events on each of these CPUs and replaces earlier events; an empty
 * array or close(2) closes them.
 */
#ifndef METAGROUP_FLOOR_H
#define METAGROUP_FLOOR_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define METAGROUP_FLOOR_DEVICE	"/dev/metagroup_floor"
#define METAGROUP_FLOOR_IOC_BROADCAST	_IO(0xBD, 0xF0)
#define METAGROUP_FLOOR_IOC_TIMERS	_IO(0xBD, 0xF1)
#define METAGROUP_FLOOR_IOC_EXPIRIES	_IO(0xBD, 0xF2)
#define METAGROUP_FLOOR_IOC_OPEN	_IOW(0xBD, 0xF3, struct metagroup_floor_events)

#define METAGROUP_FLOOR_MIN_PERIOD	10000	/* ns */
#define METAGROUP_FLOOR_MAX_EVENTS	8

/**
 * struct metagroup_floor_events - the argument of OPEN
 * @attrs:	address of an array of struct perf_event_attr
 * @nr_events:	entries of that array
 * @stride:	size of an entry in bytes
 */
struct metagroup_floor_events {
	__u64 attrs;
	__u32 nr_events;
	__u32 stride;
};

#endif /* METAGROUP_FLOOR_H */
