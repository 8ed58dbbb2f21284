/* SPDX-License-Identifier: MIT
 *
 * All clocks of the guest go by virtual time: the time stamp counter, and QEMU's timers.
 */
#ifndef SLOWMO_GUEST_TIME_H
#define SLOWMO_GUEST_TIME_H

/* When QEMU begins. NULL, or what is wrong. */
const char *guest_time_take_over(void);

/* In the thread of a virtual CPU, before it is slow. */
void guest_time_enter(unsigned int cpu);

#endif /* SLOWMO_GUEST_TIME_H */
