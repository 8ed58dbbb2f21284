// SPDX-License-Identifier: MIT
// The processor's own counters: instructions, interrupts, counts of more than 32 bits.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "fixtures.hpp"

using namespace metagroup::test;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kFormat = kTimes | PERF_FORMAT_GROUP;
constexpr std::size_t kFirst = 3;  // count in a payload

constexpr std::uint64_t kWrap = std::uint64_t{1} << 32;

// Cycles of a busy CPU, counted three times: by the one wide counter, if there is one, and by two
// of 32 bits. Without one wrap, the counts differ.
struct Cycles {
    int cpu = online_cpus().back();
    BusyCpu busy{cpu};
    std::vector<EventGroup> groups;
    Meta meta;

    Cycles() {
        need_hardware();
        for (int i = 0; i < 3; ++i)
            groups.emplace_back().add(hardware_event(PERF_COUNT_HW_CPU_CYCLES, 0), cpu);
        REQUIRE(meta.attach(groups) == 0);
    }

    std::vector<std::uint64_t> counts() const { return words(meta.read()); }
};

std::uint64_t least(const std::vector<std::uint64_t>& counts) {
    return *std::min_element(counts.begin(), counts.end());
}

void require_agreement(const std::vector<std::uint64_t>& counts) {
    CAPTURE(counts);
    REQUIRE(*std::max_element(counts.begin(), counts.end()) - least(counts) < kWrap / 8);
}

}  // namespace

TEST_CASE("Instructions are counted", "[hardware]") {
    need_hardware();
    if (!has_instructions()) SKIP("this processor, or its emulation, does not count instructions");
    const OnFirstCpu here;
    auto attr = hardware_event(PERF_COUNT_HW_INSTRUCTIONS, kFormat);
    attr.exclude_kernel = 1;
    const EventGroup group = group_of(online_cpus().front(), {attr});
    const Meta meta(group);
    const std::atomic<bool> stop = false;
    const auto count_of_loop = [&](int rounds) {
        const auto before = words(meta.read())[kFirst];
        for (int i = 0; i < rounds && !stop; ++i) {
        }
        return words(meta.read())[kFirst] - before;
    };
    // One round takes a handful of instructions, and what surrounds the loop but a few thousand.
    const auto once = count_of_loop(1'000'000), twice = count_of_loop(2'000'000);
    CAPTURE(once, twice);
    REQUIRE(once > 3'000'000);
    REQUIRE(once < 20'000'000);
    REQUIRE(twice > once * 18 / 10);
    REQUIRE(twice < once * 22 / 10);
}

TEST_CASE("Hardware siblings of a software leader are read with it", "[hardware]") {
    need_hardware();
    std::vector<EventGroup> groups;
    const auto cycles = hardware_event(PERF_COUNT_HW_CPU_CYCLES, kFormat);
    for (const int cpu : online_cpus())
        groups.push_back(
            group_of(cpu, {software_event(PERF_COUNT_SW_CPU_CLOCK, kFormat), cycles,
                           software_event(PERF_COUNT_SW_PAGE_FAULTS, kFormat), cycles}));
    const Meta meta(groups);
    {
        const OnFirstCpu here;
        const auto first = words(meta.read());
        burn_ms(2);
        const auto second = words(meta.read());
        REQUIRE(second[kFirst + 1] > first[kFirst + 1]);
        REQUIRE(second[kFirst + 3] > first[kFirst + 3]);
    }
    for (int round = 0; round < 100; ++round)
        require_between_own_reads(meta, groups);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    REQUIRE(meta.read() == concatenated(groups));
}

TEST_CASE("Counters that interrupt often are read between two reads of their own", "[hardware]") {
    need_hardware();
    std::vector<EventGroup> groups;
    auto attr = hardware_event(PERF_COUNT_HW_CPU_CYCLES, kFormat);
    attr.sample_period = 500'000;
    for (const int cpu : online_cpus())
        groups.push_back(group_of(cpu, {attr, attr}));
    const Meta meta(groups);
    for (int round = 0; round < 500; ++round)
        require_between_own_reads(meta, groups);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    REQUIRE(meta.read() == concatenated(groups));
}

TEST_CASE("Counts that are read often grow beyond 32 bits", "[hardware]") {
    const Cycles cycles;
    const auto end = std::chrono::steady_clock::now() + 60s;
    auto last = cycles.counts();
    while (least(last) < kWrap + kWrap / 4) {
        REQUIRE(std::chrono::steady_clock::now() < end);
        require_between_own_reads(cycles.meta, cycles.groups);
        const auto now = cycles.counts();
        for (std::size_t i = 0; i < now.size(); ++i) {
            CAPTURE(i, last, now);
            REQUIRE(last[i] < now[i]);
        }
        require_agreement(now);
        last = now;
        std::this_thread::sleep_for(5ms);
    }
}

TEST_CASE("Counts that are not read for a while grow beyond 32 bits", "[hardware]") {
    const Cycles cycles;
    const auto begin = cycles.counts()[0];
    std::this_thread::sleep_for(200ms);
    const auto soon = cycles.counts()[0];
    REQUIRE(soon > begin);
    const std::chrono::duration<double> enough = 200ms * (1.5 * kWrap / double(soon - begin));
    CAPTURE(begin, soon, enough.count());
    REQUIRE(enough < 60s);
    std::this_thread::sleep_for(enough);

    const auto later = cycles.counts();
    require_agreement(later);
    REQUIRE(least(later) > kWrap);
    REQUIRE(cycles.meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    REQUIRE(cycles.meta.read() == concatenated(cycles.groups));
}
