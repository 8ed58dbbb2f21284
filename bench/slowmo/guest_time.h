/* SPDX-License-Identifier: MIT
 *
 * Derives all clocks of the guest, the time stamp counter and QEMU's timers, from virtual time.
 */
#ifndef SLOWMO_GUEST_TIME_H
#define SLOWMO_GUEST_TIME_H

/* When QEMU starts. Returns NULL or an error message. */
const char *guest_time_take_over(void);

/* In the thread of a virtual CPU, before it is slow. */
void guest_time_enter(unsigned int cpu);

#endif /* SLOWMO_GUEST_TIME_H */
