/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * The floor under every sweep: a broadcast that does nothing. For benchmarks.
 *
 * write(2) sets the CPUs, as text (0-3,8); it replaces those of this file.
 * The ioctl calls an empty function on all of them and waits until it ran.
 */
#ifndef METAGROUP_FLOOR_H
#define METAGROUP_FLOOR_H

#include <linux/ioctl.h>

#define METAGROUP_FLOOR_DEVICE	"/dev/metagroup_floor"
#define METAGROUP_FLOOR_IOC_BROADCAST	_IO(0xBD, 0xF0)

#endif /* METAGROUP_FLOOR_H */
