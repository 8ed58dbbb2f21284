// SPDX-License-Identifier: MIT
// The order that slow motion keeps between virtual CPUs, each of which is a thread here.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <functional>
#include <thread>

extern "C" {
#include "slowmo/clock.h"
}

namespace {

using namespace std::chrono_literals;

constexpr std::int64_t lead = 1000;
// One block of instructions.
constexpr std::int64_t step = lead / 10;
// The largest distance between a clock and what another CPU has published, every `2 * lead`.
constexpr std::int64_t most_ahead = 4 * lead;

// Two CPUs, the second of which is halted until resumed.
class Cpus {
  public:
    Cpus() {
        clock_init(2, lead);
        clock_halt(1);
        clock_enter(0);
    }
    // As QEMU's threads do at the end of a turn.
    ~Cpus() {
        clock_leave(0);
        clock_halt(0);
        clock_halt(1);
    }
    Cpus(const Cpus&) = delete;
    Cpus& operator=(const Cpus&) = delete;
};

// Returns by how much the CPU left the order until `time`: a step for each 0.1 s in which the host
// did not run the thread of another.
std::int64_t run_until(unsigned cpu, std::int64_t time) {
    std::int64_t lost = 0;
    while (clock_now(static_cast<int>(cpu)) < time)
        lost += clock_charge(cpu, step);
    return lost;
}

void interrupt(unsigned from, unsigned to, const std::function<void()>& meanwhile = {}) {
    clock_before_interrupt(from);
    if (meanwhile) meanwhile();
    clock_after_interrupt(from, to);
}

}  // namespace

TEST_CASE("A clock advances with executed instructions") {
    const Cpus cpus;
    const std::int64_t begin = clock_now(0);
    CHECK(clock_charge(0, 7) == 0);
    CHECK(clock_now(0) == begin + 7);
}

TEST_CASE("The clock does not wait for a halted CPU") {
    const Cpus cpus;
    CHECK(run_until(0, clock_now(0) + 1000 * lead) == 0);
}

TEST_CASE("A CPU that is ahead waits for the one behind") {
    const Cpus cpus;
    const std::int64_t begin = clock_now(0);
    interrupt(0, 1);
    std::int64_t others = 0;
    std::jthread slower([&] {
        clock_resume(1);
        for (int i = 0; i < 100; ++i) {
            std::this_thread::sleep_for(100us);
            clock_charge(1, step);
        }
        others = clock_now(1);
        clock_halt(1);
    });
    CHECK(run_until(0, begin + 5 * lead) < lead);
    slower.join();
    CHECK(others == begin + 100 * step);
}

TEST_CASE("The clock waits for an interrupted CPU before the host runs it") {
    const Cpus cpus;
    run_until(0, clock_now(0) + 50 * lead);
    const std::int64_t sent = clock_now(0);
    interrupt(0, 1);
    std::int64_t began = 0;
    std::jthread target([&] {
        std::this_thread::sleep_for(20ms);
        clock_resume(1);
        began = clock_now(1);
        run_until(1, sent + 2 * lead);
        clock_halt(1);
    });
    const auto start = std::chrono::steady_clock::now();
    CHECK(run_until(0, sent + most_ahead) < lead);
    CHECK(std::chrono::steady_clock::now() - start > 10ms);
    target.join();
    CHECK(began == sent);
}

TEST_CASE("The clock does not wait for a CPU that already had its interrupt") {
    const Cpus cpus;
    interrupt(0, 1, [] {
        clock_resume(1);
        clock_halt(1);
    });
    CHECK(run_until(0, clock_now(0) + 100 * lead) == 0);
}

TEST_CASE("The clock stops waiting for a CPU that never wakes") {
    const Cpus cpus;
    interrupt(0, 1);
    CHECK(run_until(0, clock_now(0) + 20 * lead) > 0);
    CHECK(run_until(0, clock_now(0) + 1000 * lead) == 0);
}

TEST_CASE("The clock of a parked CPU advances without execution until it is interrupted") {
    const Cpus cpus;
    const std::int64_t begin = clock_now(0);
    std::int64_t parked = 0;
    std::atomic<bool> resumed = false;
    std::jthread target([&] {
        clock_resume(1);
        resumed = true;
        resumed.notify_one();
        // Several times: there may be no interrupt for milliseconds.
        while (parked < 50 * lead)
            parked += clock_park(1);
        clock_halt(1);
    });
    // Else the other one may be done before, and no time is left to pass.
    resumed.wait(false);
    CHECK(run_until(0, begin + 60 * lead) < lead);
    interrupt(0, 1);
    target.join();
    CHECK(parked >= 50 * lead);
}

TEST_CASE("With all CPUs at full speed, time advances as on the host") {
    clock_init(2, lead);
    const std::int64_t begin = clock_now(0);
    CHECK(clock_now(-1) >= begin);
    std::this_thread::sleep_for(2ms);
    const std::int64_t end = clock_now(1);
    CHECK(end - begin >= 2'000'000'000);
}

TEST_CASE("No clock goes back when slow motion ends") {
    std::int64_t slow = 0;
    {
        const Cpus cpus;
        run_until(0, clock_now(0) + 1000 * lead);
        slow = clock_now(0);
    }
    CHECK(clock_now(0) >= slow);
    CHECK(clock_now(-1) >= slow);
}

TEST_CASE("The time of QEMU never goes back") {
    std::atomic<bool> done = false;
    bool back = false;
    std::jthread qemu([&] {
        for (std::int64_t before = clock_now(-1); !done;) {
            const std::int64_t now = clock_now(-1);
            back = back || now < before;
            before = now;
        }
    });
    for (int turn = 0; turn < 200; ++turn) {
        const Cpus cpus;
        run_until(0, clock_now(0) + 10 * lead);
    }
    done = true;
    qemu.join();
    CHECK_FALSE(back);
}

TEST_CASE("No clock goes faster than the host's") {
    const Cpus cpus;
    const auto start = std::chrono::steady_clock::now();
    const std::int64_t begin = clock_now(0);
    constexpr std::int64_t millisecond = 1'000'000'000;
    while (clock_now(0) < begin + 5 * millisecond)
        clock_charge(0, millisecond / 100);
    CHECK(std::chrono::steady_clock::now() - start > 4ms);
}
