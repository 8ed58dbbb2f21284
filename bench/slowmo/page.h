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

/* One virtual CPU: the guest's CPU of the same number. The counts go on for ever, throttled or not;
 * one who measures takes differences. They are brought up to date before the instructions they
 * count are executed, a translation block (up to some dozens) at a time.
 */
struct slowmo_cpu {
    uint64_t kernel_insns; /* weighted instructions at addresses of the kernel's half */
    uint64_t user_insns;   /* and of the user's */
    uint64_t late_ns;      /* by how much it got ahead of others that did not come on in time */
    uint64_t tick_insns;   /* in the timer's interrupt, and in none of the two above */
    uint64_t reserved[4];  /* 0; a slot is a cache line */
};

struct slowmo_page {
    uint64_t magic;    /* SLOWMO_MAGIC, written last */
    uint32_t version;  /* SLOWMO_VERSION */
    uint32_t nr_cpus;  /* virtual CPUs, so many slots are in use */
    uint64_t rate;     /* weighted instructions per second of each CPU, when throttled */
    uint32_t throttle; /* by the guest: 0 full speed, as at boot; 1 slow motion */
    uint32_t reserved;
    /* By the guest, before `throttle`: what is executed from the first of these addresses to the
     * second is counted apart and takes next to no time; 0 if there is nothing such. It is the
     * timer's interrupt: there would be a tick every few thousand instructions, a quarter of all
     * that a CPU does.
     */
    uint64_t tick_begin;
    uint64_t tick_end;
    /* By the guest, before `throttle`: a function that is called over and over by who has to keep a
     * CPU busy and nothing else; 0 if there is none. What such a CPU would execute until it is
     * interrupted is not executed, only counted, for the user.
     */
    uint64_t toil;
    uint64_t reserved2;
    struct slowmo_cpu cpus[SLOWMO_MAX_CPUS];
};

static_assert(sizeof(struct slowmo_cpu) == 64, "a slot is a cache line");
static_assert(sizeof(struct slowmo_page) == 8192, "a PCI BAR is a power of two");

#endif /* SLOWMO_PAGE_H */
