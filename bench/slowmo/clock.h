/* SPDX-License-Identifier: MIT
 *
 * The virtual time of slow motion: each virtual CPU has a clock of its own, which instructions
 * advance, and none may get ahead of another that has something to execute. So what happens in the
 * guest happens in the order of virtual time, however the host shares out its CPUs; and time in the
 * guest is the number of instructions on the critical path.
 *
 * Times are in picoseconds.
 */
#ifndef SLOWMO_CLOCK_H
#define SLOWMO_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* `lead`: by how much one may be ahead. */
void clock_init(unsigned int nr_cpus, int64_t lead);

/* In the virtual CPU's own thread: its clock. -1: of the CPU that is last; this never goes back.
 * While none is slow it is that of all, and goes on as the host's does; it never goes faster.
 */
int64_t clock_now(int cpu);

/* In the virtual CPU's own thread, between blocks. From clock_enter() to clock_leave(), which is
 * for all of them, CPUs that are not halted are slow. clock_charge() returns when no other one is
 * too far behind; the result is by how much that was given up, normally 0.
 */
bool clock_is_slow(unsigned int cpu);
void clock_enter(unsigned int cpu);
void clock_leave(unsigned int cpu);
int64_t clock_charge(unsigned int cpu, int64_t time);

/* In the virtual CPU's own thread, of a slow one that does nothing that others could notice, such
 * as to spin: its clock goes on without it, until it is interrupted or for some milliseconds. By
 * how much it went on.
 */
int64_t clock_park(unsigned int cpu);

/* In the virtual CPU's own thread: it has nothing to execute; it has. */
void clock_halt(unsigned int cpu);
void clock_resume(unsigned int cpu);

/* A CPU that was halted or parked is to be waited for from the moment at which another one
 * interrupts it, not from when the host gets to run it. clock_before_interrupt() comes just before
 * it is sent.
 */
void clock_before_interrupt(unsigned int from);
void clock_after_interrupt(unsigned int from, unsigned int to);

#endif /* SLOWMO_CLOCK_H */
