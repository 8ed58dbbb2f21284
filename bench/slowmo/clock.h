/* SPDX-License-Identifier: MIT
 *
 * The virtual time of slow motion: each virtual CPU has a clock, which its instructions advance,
 * and no clock may get ahead of that of another CPU that executes. So events in the guest have the
 * order of virtual time, whatever the host's scheduler does, and time in the guest is the number of
 * instructions on the critical path.
 *
 * Times are in picoseconds.
 */
#ifndef SLOWMO_CLOCK_H
#define SLOWMO_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* `lead` is the time by which a clock may be ahead. */
void clock_init(unsigned int nr_cpus, int64_t lead);

/* In the virtual CPU's own thread: its clock. With -1, the clock of the last CPU, which never goes
 * back. While no CPU is slow, that is the common clock, which runs at the host's speed.
 */
int64_t clock_now(int cpu);

/* In the virtual CPU's own thread, between blocks. Between clock_enter() and clock_leave(), which
 * acts for all CPUs, CPUs that are not halted are slow. clock_charge() returns when no other CPU is
 * too far behind, or after a timeout. It returns the time by which one still is, normally 0.
 */
bool clock_is_slow(unsigned int cpu);
void clock_enter(unsigned int cpu);
void clock_leave(unsigned int cpu);
int64_t clock_charge(unsigned int cpu, int64_t time);

/* In the thread of a slow virtual CPU that does nothing that others could notice, such as spinning:
 * its clock advances without execution, until it is interrupted or for some milliseconds. Returns
 * the time by which it advanced.
 */
int64_t clock_park(unsigned int cpu);

/* In the virtual CPU's own thread, when it halts and when it resumes. */
void clock_halt(unsigned int cpu);
void clock_resume(unsigned int cpu);

/* Around the instruction that interrupts another CPU. Clocks wait for a halted or parked CPU from
 * that moment on, not only from when the host runs its thread.
 */
void clock_before_interrupt(unsigned int from);
void clock_after_interrupt(unsigned int from, unsigned int to);

#endif /* SLOWMO_CLOCK_H */
