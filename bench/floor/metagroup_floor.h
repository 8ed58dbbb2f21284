/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The floor under all that interrupts CPUs to read them: a broadcast and a timer that
 * do nothing; and under all that opens events in the kernel. For benchmarks.
 *
 * write(2) sets the CPUs, as text (0-3,8), for all files.
 * BROADCAST calls an empty function on all of them and waits until it ran.
 * TIMERS gives each of them a timer that expires at multiples of so many nanoseconds on
 * CLOCK_MONOTONIC (the argument itself), and replaces earlier ones; 0 stops them, and so
 * does close(2).
 * EXPIRIES returns how often they have expired so far, all together, modulo 2^31.
 * OPEN has each of them open kernel events for itself, and replaces earlier ones; no
 * events close them, and so does close(2).
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
 * @stride:	size of an entry
 */
struct metagroup_floor_events {
	__u64 attrs;
	__u32 nr_events;
	__u32 stride;
};

#endif /* METAGROUP_FLOOR_H */
