/* SPDX-License-Identifier: MIT
 *
 * The parts of the plugin, apart from its clock: interrupts from CPU to CPU (apic.c), the guest's
 * clocks (guest_time.c), and the profile (profile.c). throttle.c puts them together.
 */
#ifndef SLOWMO_PLUGIN_H
#define SLOWMO_PLUGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "qemu_plugin.h"

/* Detects writes to the interrupt command register of a local APIC. Must be called for each
 * instruction when a block is translated.
 */
void apic_watch(struct qemu_plugin_insn *insn, unsigned int nr_cpus);

/* Derives all clocks of the guest, the time stamp counter and QEMU's timers, from virtual time.
 * Called when QEMU starts; returns NULL or an error message.
 */
const char *guest_time_take_over(void);

/* In the thread of a virtual CPU, before it is slow. */
void guest_time_enter(unsigned int cpu);

/* A translation block: straight-line code, executed from its first instruction to its last. */
struct block {
    uint64_t address;
    uint64_t insns;   /* up to the first repetition */
    bool kernel;      /* in the kernel's half of the addresses */
    uint64_t runs[2]; /* on CPU 0, the reader's; on the others */
    struct block *next;
};

extern bool profile_wanted;

/* Writes `address insns runs-on-CPU-0 runs-on-others` for each block when QEMU ends. */
void profile_start(const char *file, qemu_plugin_id_t id);
struct block *block_new(uint64_t address);

static inline void profile_count(struct block *block, unsigned int cpu)
{
    __atomic_fetch_add(&block->runs[cpu != 0], 1, __ATOMIC_RELAXED);
}

#endif /* SLOWMO_PLUGIN_H */
