// SPDX-License-Identifier: MIT
// Counters of all kinds: software events, and the test PMU's and the processor's, which are few.
#include "fixtures.hpp"

using namespace metagroup::test;
using namespace std::chrono_literals;

namespace {

enum Kind { software, testpmu, hardware };

// Words of a payload in kTimed; the counts follow.
constexpr std::size_t kEnabled = 1, kRunning = 2, kFirst = 3;

// One of `first` and the following that this machine has.
Kind any_kind(Kind first = software) {
    std::vector<Kind> kinds;
    for (const Kind kind : {software, testpmu, hardware})
        if (kind >= first && (kind == software || (kind == testpmu && testpmu_event(0)) ||
                              (kind == hardware && has_cycles())))
            kinds.push_back(kind);
    if (kinds.empty()) SKIP("neither are there hardware counters nor is metagroup_testpmu loaded");
    return GENERATE_COPY(from_range(kinds));
}

// Clocks, or cycles and instructions; emulations may have cycles only.
std::vector<perf_event_attr> events_of(Kind kind, std::uint64_t read_format, int number) {
    perf_event_attr attr = software_event(PERF_COUNT_SW_CPU_CLOCK, read_format);
    if (kind == testpmu) attr = testpmu_or_skip(read_format);
    if (kind == hardware) attr = hardware_event(PERF_COUNT_HW_CPU_CYCLES, read_format);
    std::vector<perf_event_attr> attrs(static_cast<std::size_t>(number), attr);
    if (kind == hardware && has_instructions())
        for (std::size_t i = 1; i < attrs.size(); ++i)
            attrs[i].config = PERF_COUNT_HW_INSTRUCTIONS;
    return attrs;
}

EventGroup open_pair(Kind kind, int cpu) {
    return group_of(cpu, events_of(kind, kTimed, 2));
}

std::vector<EventGroup> open_all(Kind kind, std::uint64_t read_format, int number,
                                 bool disabled = false) {
    // Of several software PMUs.
    if (kind == software) return open_everywhere(read_format, number, disabled);
    auto attrs = events_of(kind, read_format, number);
    attrs.front().disabled = disabled;
    return group_everywhere(attrs);
}

EventGroup open_pinned(Kind kind, int cpu) {
    auto attrs = events_of(kind, kTimed, 1);
    attrs.front().pinned = 1;
    return group_of(cpu, attrs);
}

// Pinned groups of one event until the counters are used up: the last one did not fit.
std::vector<EventGroup> open_too_many_pinned(Kind kind, int cpu) {
    std::vector<EventGroup> groups;
    do {
        groups.push_back(open_pinned(kind, cpu));
        REQUIRE(groups.size() < 100);
    } while (!groups.back().read().empty());
    REQUIRE(groups.size() > 1);
    return groups;
}

// Groups of two that the counters of a CPU cannot hold all at once.
std::vector<EventGroup> open_too_many(Kind kind, int cpu) {
    std::vector<EventGroup> groups;
    for (std::size_t i = open_too_many_pinned(kind, cpu).size(); i > 0; --i)
        groups.push_back(open_pair(kind, cpu));
    return groups;
}

}  // namespace

TEST_CASE("Stopped counters read the same bytes as their own reads, in every read format and size",
          "[hardware]") {
    const Kind kind = any_kind();
    const int most = kind == software ? 8 : 2;
    std::size_t formats = 0;
    for (std::uint64_t read_format = 0; read_format < kReadFormats; ++read_format) {
        if (!kernel_knows(read_format)) continue;
        ++formats;
        for (int events = 1; events <= most; ++events) {
            CAPTURE(kind, read_format, events);
            const auto [groups, meta] = attached(open_all(kind, read_format, events, true));
            count_and_stop(meta);
            REQUIRE(meta.read() == concatenated(groups));
        }
    }
    // PERF_FORMAT_LOST is the only one that a kernel of today may lack.
    REQUIRE(formats >= kReadFormats / 2);
}

TEST_CASE("Running counters are read between two reads of their own", "[hardware]") {
    const Kind kind = any_kind();
    const std::uint64_t group_bit = GENERATE(0, PERF_FORMAT_GROUP);
    CAPTURE(kind, group_bit);
    const auto [groups, meta] =
        attached(open_all(kind, kTimes | group_bit, kind == software ? 4 : 2));
    for (int round = 0; round < 200; ++round)
        require_between_own_reads(meta, groups);
}

TEST_CASE("Running counters and times advance from one read to the next, including siblings",
          "[hardware]") {
    // No read(2) of a member in between, which would refresh what a sweep does not.
    const Kind kind = any_kind();
    const std::uint64_t read_format = GENERATE(0, kTimes, kTimed);
    CAPTURE(kind, read_format);
    const int events = kind == hardware ? 2 : 3;
    // Cycles stand still in idle.
    std::optional<BusyCpu> busy;
    std::vector<int> cpus = online_cpus();
    if (kind == hardware) busy.emplace(cpus.back()), cpus = {cpus.back()};
    std::vector<EventGroup> groups;
    for (const int cpu : cpus)
        groups.push_back(group_of(cpu, events_of(kind, read_format, events)));
    const Meta meta(groups);
    const std::size_t per_member = meta.info().raw_size / 8 / groups.size();
    const bool grouped = read_format & PERF_FORMAT_GROUP;
    auto last = words(meta.read());
    for (int round = 0; round < 200; ++round) {
        const auto now = words(meta.read());
        for (std::size_t i = 0; i < now.size(); ++i) {
            CAPTURE(round, i);
            if (grouped && i % per_member == 0)
                REQUIRE(now[i] == static_cast<std::uint64_t>(events));
            else
                REQUIRE(now[i] > last[i]);
        }
        last = now;
    }
}

TEST_CASE("Leaders and siblings are stopped, reset and started together", "[hardware]") {
    const Kind kind = any_kind();
    CAPTURE(kind);
    const auto [groups, meta] = attached(group_everywhere(events_of(kind, kTimed, 2)));
    const OnFirstCpu here;
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
    REQUIRE(on[kFirst] > 0);
    REQUIRE(on[kFirst + 1] > 0);
    REQUIRE(on[kRunning] > zero[kRunning]);
}

TEST_CASE("More groups than a CPU's counters are multiplexed, and all reads are between their own",
          "[hardware]") {
    const Kind kind = any_kind(testpmu);
    CAPTURE(kind);
    const auto [groups, meta] = attached(open_too_many(kind, online_cpus().back()));
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
    const Kind kind = any_kind(testpmu);
    const int cpu = online_cpus().back();
    const EventGroup reference = open_pinned(kind, cpu);
    const auto sharing = open_too_many(kind, cpu);
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
        CAPTURE(kind, member, rate(0, kEnabled), rate(member, kRunning), rate(member, kEnabled));
        // A quarter: a CPU that is emulated may stand still between counter and clock.
        REQUIRE(rate(member, kRunning) > 0.75 * rate(0, kEnabled));
        REQUIRE(rate(member, kRunning) < 1.25 * rate(0, kEnabled));
    }
}

TEST_CASE("A pinned group is in error if no counter is left", "[hardware]") {
    const Kind kind = any_kind(testpmu);
    const int cpu = online_cpus().back();
    const auto groups = open_too_many_pinned(kind, cpu);
    const EventGroup fine = open_group(cpu, kTimed, 1);
    const Meta meta(groups, fine);
    const auto failed = static_cast<unsigned>(groups.size() - 1);
    const std::size_t payload = 4 * sizeof(std::uint64_t);
    REQUIRE(meta.member(failed).status == PERF_METAGROUP_ERROR);
    REQUIRE(meta.read().size() == groups.size() * payload);  // the others, and the last

    const Framed framed = read_framed(meta);
    for (unsigned i = 0; i < framed.head.count; ++i) {
        CAPTURE(kind, i);
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
    const Kind kind = any_kind(testpmu);
    CAPTURE(kind);
    auto [groups, meta] = attached(open_too_many_pinned(kind, online_cpus().back()));
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

TEST_CASE("Sweeps continue while other groups are opened and closed", "[hardware]") {
    const Kind kind = any_kind();
    CAPTURE(kind);
    const auto groups = open_all(kind, kTimed, 2);
    const auto cpus = online_cpus();
    const Meta meta(groups);
    Background others([&] {
        std::vector<EventGroup> opened;
        for (int i = 0; i < 12; ++i)
            for (const int cpu : cpus)
                opened.push_back(open_pair(kind, cpu));
    });
    repeat_for(
        long_time(2s), [&] { require_between_own_reads(meta, groups); },
        [&] { return others.rounds() >= 3; });
    others.stop();
    REQUIRE(others.rounds() >= 3);
}

// The processor's own counters: instructions, interrupts, counts of more than 32 bits.

namespace {

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
    auto attr = hardware_event(PERF_COUNT_HW_INSTRUCTIONS, kTimed);
    attr.exclude_kernel = 1;
    const auto [group, meta] = attached(group_of(online_cpus().front(), {attr}));
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

TEST_CASE("Hardware siblings of a software leader are read with the leader", "[hardware]") {
    need_hardware();
    const auto cycles = hardware_event(PERF_COUNT_HW_CPU_CYCLES, kTimed);
    const auto groups =
        group_everywhere({software_event(PERF_COUNT_SW_CPU_CLOCK, kTimed), cycles,
                          software_event(PERF_COUNT_SW_PAGE_FAULTS, kTimed), cycles});
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
    auto attr = hardware_event(PERF_COUNT_HW_CPU_CYCLES, kTimed);
    attr.sample_period = 500'000;
    const auto [groups, meta] = attached(group_everywhere({attr, attr}));
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
