// SPDX-License-Identifier: MIT
#include "plugin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

bool profile_wanted;
static struct block *blocks; // only ever added to, at the front

struct block *block_new(uint64_t address)
{
    struct block *block = calloc(1, sizeof(*block));

    if (!block) abort();
    block->address = address;
    block->kernel = address >> 63;
    block->next = __atomic_load_n(&blocks, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&blocks, &block->next, block, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
    return block;
}

static void write_profile(qemu_plugin_id_t id, void *userdata)
{
    FILE *file = userdata;

    (void)id;
    for (const struct block *block = __atomic_load_n(&blocks, __ATOMIC_ACQUIRE); block;
         block = block->next) {
        if (block->runs[0] || block->runs[1])
            fprintf(file, "%" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", block->address,
                    block->insns, block->runs[0], block->runs[1]);
    }
    fclose(file);
}

void profile_start(const char *file, qemu_plugin_id_t id)
{
    FILE *stream = fopen(file, "we");

    if (!stream) {
        perror(file);
        return;
    }
    profile_wanted = true;
    qemu_plugin_register_atexit_cb(id, write_profile, stream);
}
