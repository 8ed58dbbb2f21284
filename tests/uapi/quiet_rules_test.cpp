// SPDX-License-Identifier: MIT
// The limits of QUIET: counts that continue in idle, CPUs with too many events, meta-groups that
// are seldom swept.
#include "fixtures.hpp"

using namespace metagroup::test;
using std::chrono::milliseconds;

namespace {

// One word for the number of events, one for each count.
constexpr std::uint64_t kFormat = PERF_FORMAT_GROUP;
constexpr std::size_t kBudget = 64;  // events, and members, on a CPU

// Groups of 8 core events each on that CPU.
std::vector<EventGroup> open_eights(int cpu, std::size_t groups) {
    std::vector<EventGroup> opened;
    for (std::size_t i = 0; i < groups; ++i)
        opened.push_back(open_core(cpu, kFormat, 8));
    return opened;
}

void require_never_idle(const Meta& meta, int rounds) {
    for (int round = 0; round < rounds; ++round) {
        std::this_thread::sleep_for(milliseconds(5));
        for (const Frame& frame : take_apart(meta.read()).frames) {
            CAPTURE(round, frame.record.member);
            REQUIRE(frame.record.status == PERF_METAGROUP_OK);
        }
    }
}

// The CPU becomes idle again.
void wake(int cpu) {
    std::jthread([&] { run_on(cpu); });
}

std::chrono::nanoseconds median(std::vector<std::chrono::nanoseconds> times) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::ranges::nth_element(times, middle);
    return *middle;
}

}  // namespace

TEST_CASE_METHOD(NeedsQuiet,
                 "Quiet: the idle probe is removed some seconds after the last quiet meta-group") {
    core_or_skip(kFormat);
    {
        const Meta meta;
        REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
        REQUIRE(testpmu_idle_is_probed());
    }
    REQUIRE(wait_until([] { return !testpmu_idle_is_probed(); }));
    const Meta meta;
    REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
    REQUIRE(testpmu_idle_is_probed());
}

TEST_CASE_METHOD(NeedsQuiet,
                 "Quiet: a counter that continues in idle is current, alone or in a group") {
    const bool grouped = GENERATE(false, true);
    const char* const name = GENERATE("cpu-clock", "metagroup_test", "msr");
    CAPTURE(name, grouped);
    std::optional<perf_event_attr> attr = software_event(PERF_COUNT_SW_CPU_CLOCK, kFormat);
    if (name != std::string("cpu-clock")) attr = pmu_event(name, 0, kFormat);
    if (!attr) SKIP("there is no PMU " << name);
    const IdleCpu idle;
    EventGroup group;
    if (grouped) group.add(core_or_skip(kFormat), idle.cpu);
    // Of another PMU that can be no sibling.
    if (grouped && name == std::string("metagroup_test")) return;
    group.add(*attr, idle.cpu);
    REQUIRE(idle.meta.attach(group) == 0);
    REQUIRE(idle.meta.set_format(PERF_METAGROUP_FORMAT_RAW) == 0);
    std::uint64_t last = 0;
    for (int round = 0; round < 20; ++round) {
        // Two sweeps with nothing between them that interrupts the CPU.
        const std::uint64_t first = words(idle.meta.read()).back();
        std::this_thread::sleep_for(milliseconds(10));
        const std::uint64_t second = words(idle.meta.read()).back();
        CAPTURE(round, last, first, second);
        REQUIRE(first > last);
        REQUIRE(second > first);
        last = second;

        std::this_thread::sleep_for(milliseconds(10));
        const Bytes before = group.read();
        const Bytes ours = idle.meta.read();
        require_between(before, ours, group.read());
    }
    const Framed framed = read_framed(idle.meta);
    REQUIRE(framed.frames.at(0).record.status == PERF_METAGROUP_OK);
    REQUIRE(framed.frames[0].record.time >= framed.head.begin);
}

TEST_CASE_METHOD(NeedsQuiet,
                 "Quiet: only members that count on an idle CPU have a time before the sweep") {
    const IdleGroup idle;
    const EventGroup off = open_core(idle.cpu, kFormat, 1, true);
    const EventGroup software =
        group_of(idle.cpu, {software_event(PERF_COUNT_SW_CONTEXT_SWITCHES, kFormat)});
    REQUIRE(idle.meta.attach(off) == 0);
    REQUIRE(idle.meta.attach(software) == 0);
    const auto time_of_member = [&](std::size_t member, unsigned status) {
        idle.until_idle();
        std::this_thread::sleep_for(milliseconds(20));
        const Framed framed = idle.sweep_until(0, PERF_METAGROUP_IDLE);
        const auto& record = framed.frames.at(member).record;
        CAPTURE(member, record.time, framed.head.begin, framed.head.end);
        REQUIRE(framed.frames[0].record.time < framed.head.begin);
        REQUIRE(record.status == status);
        REQUIRE(record.time >= framed.head.begin);
        REQUIRE(record.time <= framed.head.end);
    };
    time_of_member(1, PERF_METAGROUP_OFF);
    time_of_member(2, PERF_METAGROUP_OK);
}

TEST_CASE_METHOD(NeedsQuiet, "Quiet: a member whose CPU is offline has a time within the sweep") {
    const IdleGroup idle;
    idle.until_idle();
    const OfflineCpu offline(idle.cpu);
    for (int round = 0; round < 3; ++round) {
        const Framed framed = idle.sweep_until(0, PERF_METAGROUP_OFFLINE);
        REQUIRE(framed.frames[0].record.time >= framed.head.begin);
        REQUIRE(framed.frames[0].record.time <= framed.head.end);
    }
}

TEST_CASE_METHOD(NeedsQuiet,
                 "Quiet: a CPU with 64 events stays idle, but a CPU with more is interrupted") {
    const IdleCpu idle;
    auto groups = open_eights(idle.cpu, kBudget / 8);
    REQUIRE(idle.meta.attach(groups) == 0);
    const Framed framed = idle.until_idle();
    for (const Frame& frame : framed.frames)
        REQUIRE(frame.record.status == PERF_METAGROUP_IDLE);

    const EventGroup one_more = open_core(idle.cpu, kFormat, 1);
    REQUIRE(idle.meta.attach(one_more) == 0);
    require_never_idle(idle.meta, 50);
    REQUIRE(idle.meta.detach(static_cast<unsigned>(groups.size())) == 0);
    idle.until_idle();
}

TEST_CASE_METHOD(NeedsQuiet,
                 "Quiet: software events and stopped events do not count toward the 64") {
    const IdleCpu idle;
    auto groups = open_eights(idle.cpu, kBudget / 8);
    for (int i = 0; i < 10; ++i)
        groups[0].add(software_event(PERF_COUNT_SW_CONTEXT_SWITCHES, kFormat), idle.cpu);
    REQUIRE(idle.meta.attach(groups) == 0);
    REQUIRE(idle.meta.attach(open_core(idle.cpu, kFormat, 8, true)) == 0);
    idle.until_idle();
}

TEST_CASE_METHOD(NeedsQuiet,
                 "Quiet: a CPU with 64 members stays idle, but a CPU with more is interrupted") {
    const IdleCpu idle;
    const auto software = software_event(PERF_COUNT_SW_CONTEXT_SWITCHES, kFormat);
    std::vector<EventGroup> groups;
    groups.push_back(open_core(idle.cpu, kFormat, 1));
    while (groups.size() < kBudget)
        groups.push_back(group_of(idle.cpu, {software}));
    REQUIRE(idle.meta.attach(groups) == 0);
    idle.until_idle();

    const EventGroup one_more = group_of(idle.cpu, {software});
    REQUIRE(idle.meta.attach(one_more) == 0);
    require_never_idle(idle.meta, 50);
}

TEST_CASE_METHOD(NeedsQuiet, "Quiet: all meta-groups that are swept share the 64 events of a CPU") {
    const IdleCpu older, newer;
    const auto older_groups = open_eights(older.cpu, 5), newer_groups = open_eights(newer.cpu, 5);
    REQUIRE(older.meta.attach(older_groups) == 0);
    REQUIRE(newer.meta.attach(newer_groups) == 0);
    bool idle = false;
    for (int round = 0; round < 200; ++round) {
        const auto first = newer.status(4), second = older.status(4);
        CAPTURE(round, first, second);
        // Both at once would be 80 events.
        REQUIRE((first == PERF_METAGROUP_OK || second == PERF_METAGROUP_OK));
        idle |= first == PERF_METAGROUP_IDLE || second == PERF_METAGROUP_IDLE;
        std::this_thread::sleep_for(milliseconds(5));
    }
    REQUIRE(idle);

    // One that is not swept any more leaves all of them to the other.
    older.until_idle();
}

TEST_CASE_METHOD(NeedsQuiet,
                 "Quiet: counts are not refreshed before idle after a second without a sweep") {
    const IdleGroup idle;
    for (int round = 0; round < 3; ++round) {
        idle.until_idle();
        std::this_thread::sleep_for(milliseconds(1200));
        wake(idle.cpu);
        std::this_thread::sleep_for(milliseconds(50));
        const Framed framed = idle.framed();
        REQUIRE(framed.frames.at(0).record.status == PERF_METAGROUP_OK);
        REQUIRE(framed.frames[0].record.time >= framed.head.begin);
    }
}

TEST_CASE_METHOD(NeedsQuiet, "Entering and leaving QUIET does not patch kernel code each time") {
    const int cpu = online_cpus().back();
    const Meta meta;
    // The first time since the module was loaded may.
    REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
    REQUIRE(meta.set_mode(0) == 0);
    const OnFirstCpu here;
    const BusyCpu busy(cpu);
    constexpr unsigned kRounds = 50;
    const auto before = function_calls(cpu);
    for (unsigned i = 0; i < kRounds; ++i) {
        REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
        REQUIRE(meta.set_mode(0) == 0);
    }
    const auto calls = function_calls(cpu) - before;
    // To patch takes some 50 interrupts of each CPU; since Linux 7 to wait for readers of a
    // tracepoint takes 4.
    REQUIRE(calls < 10 * kRounds);
}

TEST_CASE_METHOD(NeedsQuiet, "Closing a handle does not wait for other handles that leave QUIET") {
    const Meta meta;
    std::vector<std::chrono::nanoseconds> leaves, closes;
    Background leaver([&] {
        meta.set_mode(PERF_METAGROUP_MODE_QUIET);
        leaves.push_back(time_of([&] { meta.set_mode(0); }));
    });
    for (int i = 0; i < 200; ++i) {
        Meta other;
        closes.push_back(time_of([&] { other.close(); }));
        std::this_thread::sleep_for(milliseconds(3));
    }
    leaver.stop();
    CAPTURE(leaves.size(), median(leaves).count(), median(closes).count());
    if (median(leaves) < milliseconds(1)) SKIP("grace periods are too short here to wait for one");
    REQUIRE(median(closes) < median(leaves) / 4);
}
