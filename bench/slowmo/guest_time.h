/* SPDX-License-Identifier: MIT
 *
 * All clocks of the guest go by virtual time: the time stamp counter, and QEMU's timers.
 */
#ifndef SLOWMO_GUEST_TIME_H
#define SLOWMO_GUEST_TIME_H

/* When QEMU begins; 0, or -1 with errno. */
int guest_time_init(void);

/* In the thread of a virtual CPU that is to be slow. */
void guest_time_take_over(unsigned int cpu);

#endif /* SLOWMO_GUEST_TIME_H */
