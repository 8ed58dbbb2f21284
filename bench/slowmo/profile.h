/* SPDX-License-Identifier: MIT
 *
 * A profile of the instructions executed in slow motion.
 */
#ifndef SLOWMO_PROFILE_H
#define SLOWMO_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "qemu_plugin.h"

/* A translation block: straight code, executed from its first instruction to its last. */
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

#endif /* SLOWMO_PROFILE_H */
