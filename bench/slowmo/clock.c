// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "clock.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "page.h"

// Who is waited for may be in QEMU, waiting that all others come out of the guest's code. So
// waiting ends, for one block.
#define PATIENCE_NS INT64_C(100000000)

// An interrupt that does not wake its CPU, as that is offline.
#define MOST_WAKING_NS INT64_C(500000000)

// Real time that is lost by more than this is not made up for.
#define MOST_LAG INT64_C(1000000000)

// Shorter sleeps are not worth their while.
#define LEAST_SLEEP INT64_C(50000000)

// A CPU that is parked may have been interrupted by its timer.
#define PARKED_NS INT64_C(4000000)

enum state {
    AWAY,   // halted or parked, or all are at full speed: nobody waits for it
    WAKING, // interrupted at `shown` while it was halted or parked
    SLOW,   // has something to execute
};

struct clock {
    int64_t time;  // of its thread; SLOW: what it is at
    int64_t check; // of its thread: when to look at the others
    bool slow;     // of its thread: state is SLOW, or clock_leave() was for it too

    // By `lock`.
    enum state state;
    bool may_wake;        // halted or parked
    uint32_t waits;       // a futex: 0 once it may go on
    int64_t shown;        // `time` as others know it
    int64_t woken_ns;     // WAKING: since when, by the host's clock
    uint64_t resumed;     // `resumes` when it resumed last
    uint64_t resumes_was; // of its thread: `resumes` before it interrupted another
} __attribute__((aligned(64)));

static struct clock clocks[SLOWMO_MAX_CPUS];
static unsigned int nr_clocks;
static int64_t most_lead;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool slow;        // by `lock`: there is an order
static uint64_t resumes; // by `lock`, read without

// What it is later than the host's clock while all are AWAY. By `lock`.
static int64_t rest;

// The latest that clock_now() gave for none of them: QEMU's timers hang if it goes back. By `lock`.
static int64_t told;

// No clock is later than `pace` plus what the host's went on since `pace_ns`. By `lock`.
static int64_t pace;
static int64_t pace_ns;

static int64_t host_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int64_t max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

// The time of the CPU that is last; at rest that of all.
static int64_t earliest(void)
{
    int64_t time = INT64_MAX;

    for (unsigned int i = 0; i < nr_clocks; i++) {
        if (clocks[i].state != AWAY && clocks[i].shown < time) time = clocks[i].shown;
    }
    return time != INT64_MAX ? time : host_ns() * 1000 + rest;
}

// It need not look at the others before they can be too far behind; but show how far it is, as
// nobody who comes back shall come in the past.
static void set_check(struct clock *clock)
{
    int64_t check = clock->time + 2 * most_lead;

    for (unsigned int i = 0; i < nr_clocks; i++) {
        const int64_t limit = clocks[i].shown + most_lead;

        if (&clocks[i] != clock && clocks[i].state != AWAY && limit < check) check = limit;
    }
    clock->check = check;
}

// From the latest that any of them is at.
static void begin_rest(void)
{
    int64_t time = 0;

    for (unsigned int i = 0; i < nr_clocks; i++)
        time = max(time, clocks[i].shown);
    rest = time - host_ns() * 1000;
}

static bool all_away(void)
{
    for (unsigned int i = 0; i < nr_clocks; i++) {
        if (clocks[i].state != AWAY) return false;
    }
    return true;
}

static void let_go(struct clock *clock)
{
    if (!clock->waits) return;
    __atomic_store_n(&clock->waits, 0, __ATOMIC_RELEASE);
    syscall(SYS_futex, &clock->waits, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void let_go_who_may(void)
{
    const int64_t latest = earliest() + most_lead;

    for (unsigned int i = 0; i < nr_clocks; i++) {
        if (clocks[i].waits && clocks[i].state == SLOW && clocks[i].shown <= latest) {
            set_check(&clocks[i]);
            let_go(&clocks[i]);
        }
    }
}

// Releases `lock`. False if that took too long.
static bool unlock_and_wait(struct clock *clock, int64_t most_ns)
{
    const int64_t until = host_ns() + most_ns;
    const struct timespec timeout = {until / 1000000000, until % 1000000000};
    bool may_go = true;

    clock->waits = 1;
    pthread_mutex_unlock(&lock);
    while (may_go && __atomic_load_n(&clock->waits, __ATOMIC_ACQUIRE))
        may_go = syscall(SYS_futex, &clock->waits, FUTEX_WAIT_BITSET_PRIVATE, 1, &timeout, NULL,
                         FUTEX_BITSET_MATCH_ANY) == 0 ||
                 errno != ETIMEDOUT;
    return may_go;
}

static void forget_offline(void)
{
    const int64_t now = host_ns();

    for (unsigned int i = 0; i < nr_clocks; i++) {
        if (clocks[i].state == WAKING && now - clocks[i].woken_ns > MOST_WAKING_NS)
            clocks[i].state = AWAY;
    }
}

void clock_init(unsigned int nr_cpus, int64_t lead)
{
    nr_clocks = nr_cpus;
    most_lead = lead;
}

int64_t clock_now(int cpu)
{
    int64_t now;

    if (cpu >= 0 && clocks[cpu].slow) return clocks[cpu].time;
    pthread_mutex_lock(&lock);
    now = earliest();
    if (cpu < 0) now = told = max(told, now);
    pthread_mutex_unlock(&lock);
    return now;
}

bool clock_is_slow(unsigned int cpu)
{
    return clocks[cpu].slow;
}

static void enter(struct clock *clock)
{
    if (clock->state == AWAY) clock->shown = max(clock->shown, earliest());
    clock->time = clock->shown;
    set_check(clock);
    clock->state = SLOW;
    clock->slow = true;
}

// All that are awake are to be waited for, also those that the host does not run now.
static void begin(void)
{
    pace_ns = host_ns();
    pace = earliest();
    slow = true;
    for (unsigned int i = 0; i < nr_clocks; i++) {
        if (!clocks[i].may_wake) {
            clocks[i].shown = max(clocks[i].shown, pace);
            clocks[i].state = SLOW;
        }
    }
}

void clock_enter(unsigned int cpu)
{
    pthread_mutex_lock(&lock);
    if (!slow) begin();
    enter(&clocks[cpu]);
    pthread_mutex_unlock(&lock);
}

void clock_leave(unsigned int cpu)
{
    pthread_mutex_lock(&lock);
    clocks[cpu].slow = false;
    if (slow) {
        clocks[cpu].shown = clocks[cpu].time;
        // Who has not yet noticed may have got on.
        for (unsigned int i = 0; i < nr_clocks; i++)
            clocks[i].shown = max(clocks[i].shown, clocks[cpu].shown + 4 * most_lead);
        begin_rest();
        slow = false;
        for (unsigned int i = 0; i < nr_clocks; i++) {
            clocks[i].state = AWAY;
            let_go(&clocks[i]);
        }
    }
    pthread_mutex_unlock(&lock);
}

// By how much it is ahead of the host's clock.
static int64_t ahead_of_pace(const struct clock *clock)
{
    const int64_t now = host_ns();
    int64_t allowed = pace + (now - pace_ns) * 1000;

    if (clock->time < allowed - MOST_LAG) {
        allowed = clock->time + MOST_LAG;
        pace = allowed;
        pace_ns = now;
    }
    return clock->time - allowed;
}

int64_t clock_charge(unsigned int cpu, int64_t time)
{
    struct clock *clock = &clocks[cpu];
    int64_t lost = 0;
    int64_t ahead;

    clock->time += time;
    if (clock->time < clock->check) return 0;

    pthread_mutex_lock(&lock);
    clock->shown = clock->time;
    let_go_who_may();
    ahead = slow ? ahead_of_pace(clock) : 0;
    if (!slow || clock->time <= earliest() + most_lead) {
        set_check(clock);
        pthread_mutex_unlock(&lock);
    } else if (!unlock_and_wait(clock, PATIENCE_NS)) {
        pthread_mutex_lock(&lock);
        clock->waits = 0;
        set_check(clock);
        forget_offline();
        lost = slow ? max(clock->time - earliest() - most_lead, 0) : 0;
        pthread_mutex_unlock(&lock);
    }
    if (ahead > LEAST_SLEEP) {
        const struct timespec sleep = {ahead / 1000000000000, ahead / 1000 % 1000000000};

        nanosleep(&sleep, NULL);
    }
    return lost;
}

static void go_away(struct clock *clock)
{
    clock->may_wake = true;
    if (clock->state != SLOW) return;
    clock->shown = clock->time;
    clock->state = AWAY;
    if (all_away()) begin_rest();
    let_go_who_may();
}

static void come_back(struct clock *clock)
{
    clock->may_wake = false;
    __atomic_store_n(&resumes, resumes + 1, __ATOMIC_RELAXED);
    clock->resumed = resumes;
    if (slow) enter(clock);
}

int64_t clock_park(unsigned int cpu)
{
    struct clock *clock = &clocks[cpu];
    const int64_t before = clock->time;

    pthread_mutex_lock(&lock);
    if (!slow) {
        pthread_mutex_unlock(&lock);
        return 0;
    }
    go_away(clock);
    unlock_and_wait(clock, PARKED_NS);
    pthread_mutex_lock(&lock);
    clock->waits = 0;
    come_back(clock);
    pthread_mutex_unlock(&lock);
    return clock->time - before;
}

void clock_halt(unsigned int cpu)
{
    struct clock *clock = &clocks[cpu];

    pthread_mutex_lock(&lock);
    go_away(clock);
    clock->slow = false;
    pthread_mutex_unlock(&lock);
}

void clock_resume(unsigned int cpu)
{
    pthread_mutex_lock(&lock);
    come_back(&clocks[cpu]);
    pthread_mutex_unlock(&lock);
}

void clock_before_interrupt(unsigned int from)
{
    clocks[from].resumes_was = __atomic_load_n(&resumes, __ATOMIC_RELAXED);
}

void clock_after_interrupt(unsigned int from, unsigned int to)
{
    struct clock *sender = &clocks[from];
    struct clock *target = &clocks[to];

    pthread_mutex_lock(&lock);
    // It may have resumed, done its work, and halted again meanwhile.
    if (slow && sender->slow && target->may_wake && target->state == AWAY &&
        target->resumed <= sender->resumes_was) {
        target->shown = max(target->shown, sender->time);
        target->woken_ns = host_ns();
        target->state = WAKING;
        let_go(target);
    }
    pthread_mutex_unlock(&lock);
}
