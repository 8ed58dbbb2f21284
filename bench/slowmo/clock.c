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

// The CPU that is waited for may itself wait in QEMU until all others have left guest code. So a
// wait ends after this time, for one block.
#define WAIT_NS INT64_C(100000000)

// After this time an interrupted CPU that has not resumed is taken to be offline.
#define MAX_WAKING_NS INT64_C(500000000)

// A clock that is later than the host's by more than this does not catch up.
#define MAX_LAG INT64_C(1000000000)

// Shorter sleeps cost more than they save.
#define MIN_SLEEP INT64_C(50000000)

// A parked CPU resumes after this time, since its timer may have interrupted it.
#define PARKED_NS INT64_C(4000000)

enum state {
    AWAY,   // halted or parked, or all are at full speed: not waited for
    WAKING, // interrupted at `shown` while it was halted or parked
    SLOW,   // has something to execute
};

struct clock {
    // Used by its own thread only.
    int64_t time;  // current while SLOW
    int64_t check; // time at which to compare with the other clocks
    bool slow;     // state is SLOW, or another thread has called clock_leave()

    // Protected by `lock`.
    enum state state;
    bool may_wake;        // halted or parked
    uint32_t waits;       // a futex: 0 once it may go on
    int64_t shown;        // `time` for other threads
    int64_t woken_ns;     // WAKING: when it was interrupted, by the host's clock
    uint64_t resumed;     // `resumes` when it resumed last
    uint64_t resumes_was; // own thread: `resumes` before it interrupted another
} __attribute__((aligned(64)));

static struct clock clocks[SLOWMO_MAX_CPUS];
static unsigned int nr_clocks;
static int64_t max_lead;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool slow;        // protected by `lock`
static uint64_t resumes; // written under `lock`, read without

// Offset of the common clock from the host's while all are AWAY. Protected by `lock`.
static int64_t away_offset;

// The last result of clock_now(-1): QEMU's timers hang if it goes back. Protected by `lock`.
static int64_t last_common;

// No clock is later than `pace` plus the host's time since `pace_ns`. Protected by `lock`.
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

// The time of the last CPU, or of all while all are AWAY.
static int64_t earliest(void)
{
    int64_t time = INT64_MAX;

    for (unsigned int i = 0; i < nr_clocks; i++) {
        if (clocks[i].state != AWAY && clocks[i].shown < time) time = clocks[i].shown;
    }
    return time != INT64_MAX ? time : host_ns() * 1000 + away_offset;
}

// The next comparison is due when another CPU can be too far behind, but soon enough to publish the
// time: a CPU that resumes must not do so in the past.
static void set_check(struct clock *clock)
{
    int64_t check = clock->time + 2 * max_lead;

    for (unsigned int i = 0; i < nr_clocks; i++) {
        const int64_t limit = clocks[i].shown + max_lead;

        if (&clocks[i] != clock && clocks[i].state != AWAY && limit < check) check = limit;
    }
    clock->check = check;
}

// The common clock continues from the latest one.
static void all_went_away(void)
{
    int64_t time = 0;

    for (unsigned int i = 0; i < nr_clocks; i++)
        time = max(time, clocks[i].shown);
    away_offset = time - host_ns() * 1000;
}

static bool all_away(void)
{
    for (unsigned int i = 0; i < nr_clocks; i++) {
        if (clocks[i].state != AWAY) return false;
    }
    return true;
}

static void release(struct clock *clock)
{
    if (!clock->waits) return;
    __atomic_store_n(&clock->waits, 0, __ATOMIC_RELEASE);
    syscall(SYS_futex, &clock->waits, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void release_all_due(void)
{
    const int64_t latest = earliest() + max_lead;

    for (unsigned int i = 0; i < nr_clocks; i++) {
        if (clocks[i].waits && clocks[i].state == SLOW && clocks[i].shown <= latest) {
            set_check(&clocks[i]);
            release(&clocks[i]);
        }
    }
}

// Releases `lock`. False after a timeout.
static bool unlock_and_wait(struct clock *clock, int64_t most_ns)
{
    const int64_t until = host_ns() + most_ns;
    const struct timespec timeout = {until / 1000000000, until % 1000000000};
    bool released = true;

    clock->waits = 1;
    pthread_mutex_unlock(&lock);
    while (released && __atomic_load_n(&clock->waits, __ATOMIC_ACQUIRE))
        released = syscall(SYS_futex, &clock->waits, FUTEX_WAIT_BITSET_PRIVATE, 1, &timeout, NULL,
                           FUTEX_BITSET_MATCH_ANY) == 0 ||
                   errno != ETIMEDOUT;
    return released;
}

static void forget_offline(void)
{
    const int64_t now = host_ns();

    for (unsigned int i = 0; i < nr_clocks; i++) {
        if (clocks[i].state == WAKING && now - clocks[i].woken_ns > MAX_WAKING_NS)
            clocks[i].state = AWAY;
    }
}

void clock_init(unsigned int nr_cpus, int64_t lead)
{
    nr_clocks = nr_cpus;
    max_lead = lead;
}

int64_t clock_now(int cpu)
{
    int64_t now;

    if (cpu >= 0 && clocks[cpu].slow) return clocks[cpu].time;
    pthread_mutex_lock(&lock);
    now = earliest();
    if (cpu < 0) now = last_common = max(last_common, now);
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

// All CPUs that are awake count, also those that the host does not run now.
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
        // A CPU that has not yet noticed may have advanced.
        for (unsigned int i = 0; i < nr_clocks; i++)
            clocks[i].shown = max(clocks[i].shown, clocks[cpu].shown + 4 * max_lead);
        all_went_away();
        slow = false;
        for (unsigned int i = 0; i < nr_clocks; i++) {
            clocks[i].state = AWAY;
            release(&clocks[i]);
        }
    }
    pthread_mutex_unlock(&lock);
}

// The time by which it is ahead of the host's clock.
static int64_t ahead_of_pace(const struct clock *clock)
{
    const int64_t now = host_ns();
    int64_t allowed = pace + (now - pace_ns) * 1000;

    if (clock->time < allowed - MAX_LAG) {
        allowed = clock->time + MAX_LAG;
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
    release_all_due();
    ahead = slow ? ahead_of_pace(clock) : 0;
    if (!slow || clock->time <= earliest() + max_lead) {
        set_check(clock);
        pthread_mutex_unlock(&lock);
    } else if (!unlock_and_wait(clock, WAIT_NS)) {
        pthread_mutex_lock(&lock);
        clock->waits = 0;
        set_check(clock);
        forget_offline();
        lost = slow ? max(clock->time - earliest() - max_lead, 0) : 0;
        pthread_mutex_unlock(&lock);
    }
    if (ahead > MIN_SLEEP) {
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
    if (all_away()) all_went_away();
    release_all_due();
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
        release(target);
    }
    pthread_mutex_unlock(&lock);
}
