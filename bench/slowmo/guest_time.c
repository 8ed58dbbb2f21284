// SPDX-License-Identifier: MIT
// QEMU has no way to set these clocks if several threads execute a guest. Its timers go by
// clock_gettime(), so the plugin is loaded before the C library (LD_PRELOAD) and has its own. The
// time stamp counter it takes from the host's, by the instruction, which is made to fault in the
// threads of virtual CPUs.
#define _GNU_SOURCE
#include "guest_time.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <x86intrin.h>

#include "clock.h"
#include "qemu_plugin.h"

// QEMU waits for its next timer for so many nanoseconds, and again if that is not due, as it may be
// while virtual time stands still.
#define LEAST_WAIT 200000

static bool is_initialized;
static uint64_t begin_ticks;
static int64_t begin;

// The counter was `then_ticks` at `then` of virtual time, when it was taken over.
static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint64_t then_ticks;
static int64_t then;
static double ticks_per_ps;

static _Thread_local int this_cpu = -1;

QEMU_PLUGIN_EXPORT int clock_gettime(clockid_t clock, struct timespec *time)
{
    int64_t now;

    if (clock != CLOCK_MONOTONIC || !is_initialized)
        return (int)syscall(SYS_clock_gettime, clock, time);
    now = clock_now(this_cpu) / 1000;
    *time = (struct timespec){now / 1000000000, now % 1000000000};
    return 0;
}

// The C library's would read the time stamp counter.
QEMU_PLUGIN_EXPORT int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
    return (int)syscall(SYS_gettimeofday, time, zone);
}

QEMU_PLUGIN_EXPORT int ppoll(struct pollfd *files, nfds_t number, const struct timespec *timeout,
                             const sigset_t *mask)
{
    struct timespec wait;

    if (timeout) {
        wait = *timeout;
        if (wait.tv_sec == 0 && wait.tv_nsec > 0 && wait.tv_nsec < LEAST_WAIT)
            wait.tv_nsec = LEAST_WAIT;
    }
    return (int)syscall(SYS_ppoll, files, number, timeout ? &wait : NULL, mask, (size_t)8);
}

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
    static const uint8_t rdtsc[] = {0x0f, 0x31};
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uint64_t ticks;

    (void)info;
    if (this_cpu < 0 || memcmp((const void *)registers[REG_RIP], rdtsc, sizeof(rdtsc)) != 0) {
        signal(signal_number, SIG_DFL); // and so it ends
        return;
    }
    ticks = then_ticks + (uint64_t)((double)(clock_now(this_cpu) - then) * ticks_per_ps);
    registers[REG_RIP] += (greg_t)sizeof(rdtsc);
    registers[REG_RAX] = (greg_t)(uint32_t)ticks;
    registers[REG_RDX] = (greg_t)(ticks >> 32);
}

int guest_time_init(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

    begin = clock_now(-1);
    begin_ticks = __rdtsc();
    is_initialized = true;
    return sigaction(SIGSEGV, &action, NULL);
}

// At full speed virtual time goes as the host's does.
static void set_rate(void)
{
    then = clock_now(-1);
    then_ticks = __rdtsc();
    ticks_per_ps = (double)(then_ticks - begin_ticks) / (double)(then - begin);
}

void guest_time_take_over(unsigned int cpu)
{
    if (this_cpu >= 0) return;
    pthread_once(&once, set_rate);
    this_cpu = (int)cpu;
    prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
}
