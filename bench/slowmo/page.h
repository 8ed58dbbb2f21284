/* SPDX-License-Identifier: MIT
 *
 * The page that the slow-motion plugin shares with the guest. C11 and C++20.
 *
 * On the host a file, given to QEMU as an `ivshmem-plain` device. In the guest BAR 2 of the PCI
 * device 1af4:1110: write 1 to its `enable` in /sys/bus/pci/devices/, then open and mmap()
 * `resource2`.
 *
 * Every word has one writer: the plugin, but for those that the guest writes, as marked. All are
 * read and written by relaxed atomic operations of their size, e.g. __atomic_load_n(&word,
 * __ATOMIC_RELAXED).
 */
#ifndef SLOWMO_PAGE_H
#define SLOWMO_PAGE_H

#include <assert.h>
#include <stdint.h>

#define SLOWMO_MAGIC 0x31304f4d574f4c53ull /* "SLOWMO01" */
#define SLOWMO_VERSION 3u
#define SLOWMO_MAX_CPUS 127
#define SLOWMO_PCI_VENDOR 0x1af4
#define SLOWMO_PCI_DEVICE 0x1110
#define SLOWMO_PCI_BAR 2

/* One virtual CPU, which is the guest's CPU of the same number. The counts also grow at full speed,
 * so take differences. They are updated before the instructions are executed, one translation block
 * (up to some dozens) at a time.
 */
struct slowmo_cpu {
    uint64_t kernel_insns; /* weighted instructions in the kernel's half of the address space */
    uint64_t user_insns;   /* and in user space */
    uint64_t late_ns;      /* time by which it got ahead of late CPUs */
    uint64_t tick_insns;   /* in timer interrupts; not part of the two above */
    uint64_t reserved[4];  /* 0; a slot is a cache line */
};

struct slowmo_page {
    uint64_t magic;    /* SLOWMO_MAGIC, written last */
    uint32_t version;  /* SLOWMO_VERSION */
    uint32_t nr_cpus;  /* virtual CPUs, so many slots are in use */
    uint64_t rate;     /* weighted instructions per second of each CPU, when throttled */
    uint32_t throttle; /* set by the guest: 0 full speed, as at boot; 1 slow motion */
    uint32_t reserved;
    /* Set by the guest before `throttle`: the first and last function of timer interrupts, or 0.
     * The code between them is counted separately and takes almost no time. Otherwise there would
     * be a tick every few thousand instructions.
     */
    uint64_t tick_begin;
    uint64_t tick_end;
    /* Set by the guest before `throttle`: the body of a loop that only keeps a CPU busy, or 0. It
     * is not executed until the next interrupt, but counted as user instructions.
     */
    uint64_t spin;
    uint64_t reserved2;
    struct slowmo_cpu cpus[SLOWMO_MAX_CPUS];
};

static_assert(sizeof(struct slowmo_cpu) == 64, "a slot is a cache line");
static_assert(sizeof(struct slowmo_page) == 8192, "a PCI BAR is a power of two");

#endif /* SLOWMO_PAGE_H */
