// SPDX-License-Identifier: MIT
// QEMU's time control for plugins does not work with several threads, see README.md. So the two
// functions of QEMU from which all clocks of the guest derive are overwritten by a jump to ours.
#define _GNU_SOURCE
#include "plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "clock.h"

// QEMU sleeps until its next timer is due by the host's clock, and again if virtual time is slower.
// More timer slack makes it wake less often.
#define SLACK_NS 200000ul
#define USUAL_SLACK_NS 50000ul

static int64_t begin;
static _Thread_local int this_cpu = -1;

static int64_t guest_ns(void)
{
    return (clock_now(this_cpu) - begin) / 1000;
}

// Overwrites the function of that name, which must have the signature of guest_ns().
static const char *replace(const char *name)
{
    uint8_t jump[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0}; // mov $..., %rax; jmp *%rax
    const uint64_t target = (uint64_t)guest_ns;
    const uintptr_t page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    uint8_t *code = dlsym(RTLD_DEFAULT, name);
    void *page;
    size_t length;

    if (!code) return "this QEMU has no such function";
    memcpy(jump + 2, &target, sizeof(target));
    page = (void *)((uintptr_t)code & ~(page_size - 1));
    length = (size_t)(code + sizeof(jump) - (uint8_t *)page);
    if (mprotect(page, length, PROT_READ | PROT_WRITE | PROT_EXEC)) return strerror(errno);
    memcpy(code, jump, sizeof(jump));
    if (mprotect(page, length, PROT_READ | PROT_EXEC)) return strerror(errno);
    return NULL;
}

const char *guest_time_take_over(void)
{
    const char *error;

    begin = clock_now(-1);
    prctl(PR_SET_TIMERSLACK, SLACK_NS);
    error = replace("cpus_get_virtual_clock");
    return error ? error : replace("cpus_get_elapsed_ticks"); // a counter of 1 GHz
}

void guest_time_enter(unsigned int cpu)
{
    if (this_cpu >= 0) return;
    this_cpu = (int)cpu;
    prctl(PR_SET_TIMERSLACK, USUAL_SLACK_NS);
}
