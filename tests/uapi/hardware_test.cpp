// SPDX-License-Identifier: MIT
// Counters of a processor: few, narrow and multiplexed.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "fixtures.hpp"
#include "support/background.hpp"

using namespace metagroup::test;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t kFormat = kTimes | PERF_FORMAT_GROUP;

// Words of a payload in kFormat; the counts follow.
constexpr std::size_t kEnabled = 1, kRunning = 2, kFirst = 3;

void need_counters() {
    if (!has_cycles()) SKIP("this machine has no hardware counters");
}

// Cycles and instructions; emulations may have cycles only.
EventGroup open_pair(int cpu, std::uint64_t read_format = kFormat, bool disabled = false) {
    auto leader = hardware_event(PERF_COUNT_HW_CPU_CYCLES, read_format);
    auto sibling = leader;
    leader.disabled = disabled;
    if (has_instructions()) sibling.config = PERF_COUNT_HW_INSTRUCTIONS;
    return group_of(cpu, {leader, sibling});
}

std::vector<EventGroup> open_pairs(std::uint64_t read_format = kFormat, bool disabled = false) {
    std::vector<EventGroup> groups;
    for (const int cpu : online_cpus())
        groups.push_back(open_pair(cpu, read_format, disabled));
    return groups;
}

EventGroup open_pinned(int cpu, std::uint64_t read_format = kFormat) {
    auto attr = hardware_event(PERF_COUNT_HW_CPU_CYCLES, read_format);
    attr.pinned = 1;
    return group_of(cpu, {attr});
}

// Pinned groups of one event until the counters are used up: the last one did not fit.
std::vector<EventGroup> open_too_many_pinned(int cpu) {
    std::vector<EventGroup> groups;
    do {
        groups.push_back(open_pinned(cpu));
        REQUIRE(groups.size() < 100);
    } while (!groups.back().read().empty());
    REQUIRE(groups.size() > 1);
    return groups;
}

// Groups of two that the counters of a CPU cannot hold all at once.
std::vector<EventGroup> open_too_many(int cpu) {
    std::vector<EventGroup> groups;
    for (std::size_t i = open_too_many_pinned(cpu).size(); i > 0; --i)
        groups.push_back(open_pair(cpu));
    return groups;
}

constexpr std::uint64_t kWrap = std::uint64_t{1} << 32;

// Cycles of a busy CPU, counted three times: by the one wide counter, if there is one, and by two
// of 32 bits. Without one wrap, the counts differ.
struct Cycles {
    int cpu = online_cpus().back();
    BusyCpu busy{cpu};
    std::vector<EventGroup> groups;
    Meta meta;

    Cycles() {
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

TEST_CASE("Stopped hardware counters read the same bytes as their own reads", "[hardware]") {
    need_counters();
    for (std::uint64_t read_format = 0; read_format < kReadFormats; ++read_format) {
        if (!kernel_knows(read_format)) continue;
        CAPTURE(read_format);
        const auto groups = open_pairs(read_format, true);
        const Meta meta(groups);
        REQUIRE(meta.control(PERF_METAGROUP_IOC_ENABLE) == 0);
        burn_ms(2);
        REQUIRE(meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
        REQUIRE(meta.read() == concatenated(groups));
    }
}

TEST_CASE("Running hardware counters read between two reads of their own", "[hardware]") {
    need_counters();
    for (const std::uint64_t read_format : {kTimes, kFormat}) {
        const auto groups = open_pairs(read_format);
        const Meta meta(groups);
        for (int round = 0; round < 200; ++round)
            require_between_own_reads(meta, groups);
    }
}

TEST_CASE("Running hardware counters advance from one sweep to the next", "[hardware]") {
    need_counters();
    // No read(2) of a member in between, which would refresh what a sweep does not.
    const int cpu = online_cpus().back();
    const EventGroup group = open_pair(cpu);
    const BusyCpu busy(cpu);
    const Meta meta(group);
    auto last = words(meta.read());
    for (int round = 0; round < 200; ++round) {
        const auto now = words(meta.read());
        REQUIRE(now[0] == 2);
        for (std::size_t i = 1; i < now.size(); ++i) {
            CAPTURE(round, i);
            REQUIRE(now[i] > last[i]);
        }
        last = now;
    }
}

TEST_CASE("Instructions are counted", "[hardware]") {
    need_counters();
    if (!has_instructions()) SKIP("this processor, or its emulation, does not count instructions");
    const int cpu = online_cpus().front();
    run_on(cpu);
    auto attr = hardware_event(PERF_COUNT_HW_INSTRUCTIONS, kFormat);
    attr.exclude_kernel = 1;
    const EventGroup group = group_of(cpu, {attr});
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
    run_anywhere();
    CAPTURE(once, twice);
    REQUIRE(once > 3'000'000);
    REQUIRE(once < 20'000'000);
    REQUIRE(twice > once * 18 / 10);
    REQUIRE(twice < once * 22 / 10);
}

TEST_CASE("Hardware siblings of a software leader are read with it", "[hardware]") {
    need_counters();
    std::vector<EventGroup> groups;
    const auto cycles = hardware_event(PERF_COUNT_HW_CPU_CYCLES, kFormat);
    for (const int cpu : online_cpus())
        groups.push_back(
            group_of(cpu, {software_event(PERF_COUNT_SW_CPU_CLOCK, kFormat), cycles,
                           software_event(PERF_COUNT_SW_PAGE_FAULTS, kFormat), cycles}));
    const Meta meta(groups);
    run_on(online_cpus().front());
    const auto first = words(meta.read());
    burn_ms(2);
    const auto second = words(meta.read());
    run_anywhere();
    REQUIRE(second[kFirst + 1] > first[kFirst + 1]);
    REQUIRE(second[kFirst + 3] > first[kFirst + 3]);
    for (int round = 0; round < 100; ++round)
        require_between_own_reads(meta, groups);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    REQUIRE(meta.read() == concatenated(groups));
}

TEST_CASE("Counters that interrupt often are read between two reads of their own", "[hardware]") {
    need_counters();
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

TEST_CASE("Hardware counters are stopped, reset and started together", "[hardware]") {
    need_counters();
    const auto groups = open_pairs();
    const Meta meta(groups);
    run_on(online_cpus().front());
    burn_ms(2);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    const Bytes stopped = meta.read();
    burn_ms(2);
    REQUIRE(meta.read() == stopped);
    REQUIRE(words(stopped)[kFirst] > 0);
    REQUIRE(words(stopped)[kFirst + 1] > 0);

    REQUIRE(meta.control(PERF_METAGROUP_IOC_RESET) == 0);
    const auto zero = words(meta.read());
    REQUIRE(meta.read() == concatenated(groups));
    for (std::size_t i = 0; i < groups.size(); ++i) {
        REQUIRE(zero[5 * i + kFirst] == 0);
        REQUIRE(zero[5 * i + kFirst + 1] == 0);
        REQUIRE(zero[5 * i + kEnabled] == words(stopped)[5 * i + kEnabled]);
    }

    REQUIRE(meta.control(PERF_METAGROUP_IOC_ENABLE) == 0);
    burn_ms(2);
    const auto on = words(meta.read());
    run_anywhere();
    REQUIRE(on[kFirst] > 0);
    REQUIRE(on[kFirst + 1] > 0);
    REQUIRE(on[kRunning] > zero[kRunning]);
}

TEST_CASE("More groups than hardware counters are multiplexed, and all reads are between their own",
          "[hardware]") {
    need_counters();
    const int cpu = online_cpus().back();
    const auto groups = open_too_many(cpu);
    const Meta meta(groups);
    std::size_t ran = 0, waited = 0;
    const auto end = std::chrono::steady_clock::now() + 1s;
    while (std::chrono::steady_clock::now() < end) {
        REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_RAW) == 0);
        require_between_own_reads(meta, groups);
        for (const Frame& frame : read_framed(meta).frames) {
            ran += frame.record.status == PERF_METAGROUP_OK;
            waited += frame.record.status == PERF_METAGROUP_INACTIVE;
        }
    }
    REQUIRE(ran > 0);
    REQUIRE(waited > 0);
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_RAW) == 0);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    REQUIRE(meta.read() == concatenated(groups));
    for (const auto& group : groups) {
        const auto read = words(group.read());
        REQUIRE(read[kRunning] > 0);
        REQUIRE(read[kRunning] < read[kEnabled]);
    }
}

TEST_CASE("Scaled counts agree with those of a group that was never multiplexed", "[hardware]") {
    need_counters();
    const int cpu = online_cpus().back();
    const EventGroup reference = open_pinned(cpu);
    const auto sharing = open_too_many(cpu);
    const Meta meta(reference, sharing);
    {
        const BusyCpu busy(cpu);
        REQUIRE(meta.control(PERF_METAGROUP_IOC_RESET) == 0);
        std::this_thread::sleep_for(2s);
    }
    REQUIRE(meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    const auto all = words(meta.read());
    const auto rate = [&](std::size_t member, std::size_t time) {
        const std::size_t at = member == 0 ? 0 : 4 + 5 * (member - 1);
        return double(all[at + kFirst]) / double(all[at + time]);
    };
    REQUIRE(all[kRunning] == all[kEnabled]);
    for (std::size_t member = 1; member <= sharing.size(); ++member) {
        CAPTURE(member, rate(0, kEnabled), rate(member, kRunning), rate(member, kEnabled));
        // A quarter: a CPU that is emulated may stand still between counter and clock.
        REQUIRE(rate(member, kRunning) > 0.75 * rate(0, kEnabled));
        REQUIRE(rate(member, kRunning) < 1.25 * rate(0, kEnabled));
    }
}

TEST_CASE("A pinned group for which no counter is left is in error", "[hardware]") {
    need_counters();
    const int cpu = online_cpus().back();
    const auto groups = open_too_many_pinned(cpu);
    const EventGroup fine = open_group(cpu, kFormat, 1);
    const Meta meta(groups, fine);
    const auto failed = static_cast<unsigned>(groups.size() - 1);
    const std::size_t payload = 4 * sizeof(std::uint64_t);
    REQUIRE(meta.member(failed).status == PERF_METAGROUP_ERROR);
    REQUIRE(meta.read().size() == groups.size() * payload);  // the others, and the last

    const Framed framed = read_framed(meta);
    for (unsigned i = 0; i < framed.head.count; ++i) {
        CAPTURE(i);
        const Frame& frame = framed.frames[i];
        REQUIRE(frame.record.status == (i == failed ? PERF_METAGROUP_ERROR : PERF_METAGROUP_OK));
        REQUIRE(frame.record.size == (i == failed ? 0 : payload));
    }
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_RAW) == 0);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
    REQUIRE(meta.read().size() == groups.size() * payload);
    REQUIRE(meta.read() == concatenated({concatenated(groups), fine.read()}));
}

TEST_CASE("A pinned group in error counts when enabled after a counter has become free",
          "[hardware]") {
    need_counters();
    auto groups = open_too_many_pinned(online_cpus().back());
    const Meta meta(groups);
    REQUIRE(meta.detach(0) == 0);
    groups.erase(groups.begin());
    REQUIRE(read_framed(meta).frames.back().record.status == PERF_METAGROUP_ERROR);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_ENABLE) == 0);
    const Framed framed = read_framed(meta);
    for (const Frame& frame : framed.frames)
        REQUIRE(frame.record.status == PERF_METAGROUP_OK);
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_RAW) == 0);
    require_between_own_reads(meta, groups);
}

TEST_CASE("Sweeps continue while hardware groups are opened and closed", "[hardware]") {
    need_counters();
    const auto groups = open_pairs();
    const auto cpus = online_cpus();
    const Meta meta(groups);
    Background others([&] {
        std::vector<EventGroup> opened;
        for (int i = 0; i < 12; ++i)
            for (const int cpu : cpus)
                opened.push_back(open_pair(cpu));
    });
    repeat_for(
        2s, [&] { require_between_own_reads(meta, groups); }, [&] { return others.rounds() >= 3; });
    others.stop();
    REQUIRE(others.rounds() >= 3);
}

TEST_CASE("Counts that are read often grow beyond 32 bits", "[hardware]") {
    need_counters();
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
    need_counters();
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
