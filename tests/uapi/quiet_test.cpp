// SPDX-License-Identifier: MIT
// SET_MODE with QUIET: idle CPUs are not interrupted.
#include <memory>

#include "fixtures.hpp"

using namespace metagroup::test;

namespace {

std::uint64_t leader_count(const Bytes& payload) {
    return words(payload).at(1);
}

// Keeps an idle CPU busy for this long.
constexpr auto kWork = std::chrono::milliseconds(20);

void work_on(int cpu) {
    std::jthread([&] {
        run_on(cpu);
        burn_ms(kWork.count());
    });
}

std::uint64_t ns(std::chrono::nanoseconds time) {
    return static_cast<std::uint64_t>(time.count());
}

}  // namespace

TEST_CASE_METHOD(NeedsQuiet,
                 "The mode belongs to the meta-group, INFO shows it, and it can be changed") {
    const Meta meta;
    REQUIRE(meta.info().mode == 0);
    for (const unsigned long mode :
         {PERF_METAGROUP_MODE_QUIET, PERF_METAGROUP_MODE_SKIP_ISOLATED,
          PERF_METAGROUP_MODE_QUIET | PERF_METAGROUP_MODE_SKIP_ISOLATED, 0UL}) {
        REQUIRE(meta.set_mode(mode) == 0);
        REQUIRE(meta.info().mode == mode);
    }
    REQUIRE(meta.set_mode(4) == -EINVAL);
    REQUIRE(meta.set_mode(~0U) == -EINVAL);
    REQUIRE(meta.info().mode == 0);
    REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    REQUIRE(meta.info().mode == PERF_METAGROUP_MODE_QUIET);
    REQUIRE(Meta().info().mode == 0);
}

TEST_CASE_METHOD(NeedsQuiet, "A member of an idle CPU has status IDLE and the payload of read(2)") {
    const IdleGroup idle(2, kIds);
    const Framed framed = idle.until_idle();
    REQUIRE(framed.frames[0].record.time > 0);
    REQUIRE(framed.frames[0].record.time <= framed.head.end);
    idle.require_payload_of(0, idle.group);
}

TEST_CASE_METHOD(NeedsQuiet, "A raw sweep returns the counts of idle CPUs") {
    const IdleGroup idle(2, kIds);
    for (int round = 0;; ++round) {
        idle.until_idle();
        REQUIRE(idle.meta.set_format(PERF_METAGROUP_FORMAT_RAW) == 0);
        const Bytes before = idle.group.read();
        const Bytes ours = idle.meta.read();
        const Bytes after = idle.group.read();
        REQUIRE(idle.meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
        if (before != after && round < 50) continue;
        REQUIRE(ours == before);
        break;
    }
}

TEST_CASE_METHOD(NeedsQuiet, "An idle CPU is not interrupted, whatever groups are on it") {
    const IdleCpu idle;
    std::vector<EventGroup> groups;
    for (int i = 1; i <= 8; ++i) {
        groups.push_back(open_core(idle.cpu, kTimed, i));
        if (i % 2) groups.back().add(software_event(PERF_COUNT_SW_CONTEXT_SWITCHES, 0), idle.cpu);
    }
    REQUIRE(idle.meta.attach(groups) == 0);
    idle.until_idle();
    const auto before = function_calls(idle.cpu);
    for (unsigned i = 0; i < kSweeps; ++i) {
        REQUIRE(idle.meta.sweep() == 0);
        // An interrupt from elsewhere ends before the next sweep, which does not prolong it.
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    // A few come from elsewhere, and from sweeps that find the CPU busy because of them.
    REQUIRE(function_calls(idle.cpu) - before < kSweeps / 10);
    const Framed framed = idle.until_idle();
    for (std::size_t i = 0; i < groups.size(); ++i) {
        REQUIRE(framed.frames[i].record.status == PERF_METAGROUP_IDLE);
        REQUIRE(framed.frames[i].record.time == framed.frames[0].record.time);
        REQUIRE(framed.frames[i].payload.size() == groups[i].read().size());
    }

    // Without the mode it is: function_calls() counts.
    REQUIRE(idle.meta.set_mode(0) == 0);
    require_interrupted(idle.meta, idle.cpu);
}

TEST_CASE_METHOD(NeedsQuiet, "A busy CPU is interrupted and its counts are current") {
    const IdleGroup idle(1, kTimes);
    const BusyCpu busy(idle.cpu);
    idle.sweep_until(0, PERF_METAGROUP_OK);
    for (int round = 0; round < 100; ++round) {
        const Framed framed = idle.framed();
        REQUIRE(framed.frames[0].record.status == PERF_METAGROUP_OK);
        REQUIRE(framed.head.begin <= framed.frames[0].record.time);
    }
}

TEST_CASE_METHOD(NeedsQuiet, "The next sweep includes counts of a CPU between two idle periods") {
    const IdleGroup idle(2, kIds);
    const auto before = idle.until_idle().frames[0];
    work_on(idle.cpu);
    const auto after = idle.until_idle().frames[0];
    REQUIRE(leader_count(after.payload) >= leader_count(before.payload) + ns(kWork) / 2);
    REQUIRE(after.record.time > before.record.time);
    idle.require_payload_of(0, idle.group);
}

TEST_CASE_METHOD(NeedsQuiet, "ENABLE and DISABLE of members of an idle CPU take effect at once") {
    const IdleGroup idle(2, kIds);
    const EventGroup other = open_core(idle.cpu, kIds, 2);
    REQUIRE(idle.meta.attach(other) == 0);
    for (int round = 0; round < 50; ++round) {
        idle.until_idle();
        idle.group.control(PERF_EVENT_IOC_DISABLE);
        REQUIRE(idle.status(0) == PERF_METAGROUP_OFF);
        REQUIRE(idle.framed().frames[0].payload == idle.group.read());
        REQUIRE(idle.status(1) != PERF_METAGROUP_OFF);
        idle.group.control(PERF_EVENT_IOC_ENABLE);
        REQUIRE(idle.status(0) != PERF_METAGROUP_OFF);

        idle.until_idle();
        REQUIRE(idle.meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
        REQUIRE(idle.status(0) == PERF_METAGROUP_OFF);
        REQUIRE(idle.status(1) == PERF_METAGROUP_OFF);
        REQUIRE(idle.meta.control(PERF_METAGROUP_IOC_ENABLE) == 0);
        REQUIRE(idle.status(0) != PERF_METAGROUP_OFF);
        REQUIRE(idle.status(1) != PERF_METAGROUP_OFF);
    }
    idle.require_payload_of(0, idle.group);
    idle.require_payload_of(1, other);
}

TEST_CASE_METHOD(NeedsQuiet, "RESET of members of an idle CPU takes effect at once") {
    const IdleGroup idle(2, kIds);
    const auto count = [&] { return leader_count(idle.framed().frames[0].payload); };
    const bool own = GENERATE(false, true);
    CAPTURE(own);
    work_on(idle.cpu);
    idle.until_idle();
    REQUIRE(count() >= ns(kWork) / 2);
    const auto start = std::chrono::steady_clock::now();
    if (own)
        idle.group.control(PERF_EVENT_IOC_RESET);
    else
        REQUIRE(idle.meta.control(PERF_METAGROUP_IOC_RESET) == 0);
    const std::uint64_t left = count();
    REQUIRE(left <= ns(std::chrono::steady_clock::now() - start));
}

TEST_CASE_METHOD(NeedsQuiet,
                 "Siblings opened and closed while the CPU is idle take effect at once") {
    IdleGroup idle(2, kIds);
    EventGroup& group = idle.group;
    const auto size = [&] { return idle.framed().frames[0].payload.size(); };
    auto attr = software_event(PERF_COUNT_SW_PAGE_FAULTS, kIds);
    for (int round = 0; round < 20; ++round) {
        attr.disabled = round % 2 ? 1 : 0;  // installed without an interrupt
        idle.until_idle();
        group.add(attr, idle.cpu);
        REQUIRE(size() == 8 + 16 * group.fds.size());
    }
    idle.require_payload_of(0, group);
    while (group.fds.size() > 1) {
        idle.until_idle();
        group.fds.pop_back();
        REQUIRE(size() == 8 + 16 * group.fds.size());
    }
    idle.require_payload_of(0, group);
}

TEST_CASE_METHOD(NeedsQuiet, "A member that is attached while its CPU is idle is read") {
    const IdleGroup idle(2, kIds);
    const EventGroup second = open_core(idle.cpu, kIds, 2);
    for (unsigned round = 0; round < 20; ++round) {
        idle.until_idle();
        perf_metagroup_attach out{};
        REQUIRE(idle.meta.attach(second, &out) == 0);
        const Framed framed = idle.framed();
        REQUIRE(framed.frames.at(1).payload.size() == second.read().size());
        REQUIRE(framed.frames[1].record.status != PERF_METAGROUP_STALE);
        idle.require_payload_of(1, second);
        REQUIRE(idle.meta.detach(out.first) == 0);
        REQUIRE(idle.framed().frames.size() == 1);
    }
    idle.require_payload_of(0, idle.group);
}

TEST_CASE_METHOD(NeedsQuiet, "A quiet member whose CPU goes offline keeps its last count") {
    const IdleGroup idle(2, kIds);
    const auto before = leader_count(idle.until_idle().frames[0].payload);
    OfflineCpu offline(idle.cpu);
    const Frame gone = idle.sweep_until(0, PERF_METAGROUP_OFFLINE).frames[0];
    REQUIRE(gone.payload == idle.group.read());
    REQUIRE(leader_count(gone.payload) >= before);

    offline.back();
    const EventGroup fresh = open_core(idle.cpu, kIds, 2);
    REQUIRE(idle.meta.attach(fresh) == 0);
    idle.require_payload_of(1, fresh);
}

TEST_CASE_METHOD(NeedsQuiet, "A sweep of some CPUs interrupts no idle CPU") {
    const IdleCpu idle;
    const auto groups = open_core_everywhere(kTimes, 1);
    REQUIRE(idle.meta.attach(groups) == 0);
    const auto interrupts = [&] {
        idle.sweep_until(groups.size() - 1, PERF_METAGROUP_IDLE);
        return interrupts_of_sweeps(idle.cpu, [&] { return idle.meta.sweep_on({0, idle.cpu}); });
    };
    // Kernel threads may keep the CPU busy for a part of one round.
    std::uint64_t fewest = interrupts();
    for (int round = 1; round < 5 && fewest >= kSweeps / 10; ++round)
        fewest = std::min(fewest, interrupts());
    REQUIRE(fewest < kSweeps / 10);
    REQUIRE(take_apart(idle.meta.sweep_copy({0})).frames.at(0).record.status == PERF_METAGROUP_OK);
}

TEST_CASE_METHOD(NeedsQuiet, "Without QUIET, idle CPUs are interrupted to read their members") {
    const IdleGroup idle(2, kIds);
    for (int round = 0; round < 5; ++round) {
        idle.until_idle();
        REQUIRE(idle.meta.set_mode(0) == 0);
        const Framed framed = idle.framed();
        REQUIRE(framed.frames[0].record.status == PERF_METAGROUP_OK);
        REQUIRE(framed.frames[0].record.time >= framed.head.begin);
        REQUIRE(idle.meta.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
    }
}

TEST_CASE_METHOD(NeedsQuiet, "A mapping shows members of idle CPUs") {
    const IdleGroup idle(2, kIds);
    const Mapping mapping(idle.meta);
    idle.until_idle();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (int round = 0; round < 200; ++round) {
        REQUIRE(idle.meta.sweep() == 0);
        const Framed mapped = mapping.framed();
        if (mapped.frames.at(0).record.status != PERF_METAGROUP_IDLE) continue;
        REQUIRE(mapped.frames[0].record.time < mapped.head.begin);
        return;
    }
    FAIL("the CPU does not become idle");
}

TEST_CASE_METHOD(NeedsQuiet, "At most 64 meta-groups are quiet, and closing one allows another") {
    std::vector<std::unique_ptr<Meta>> quiet;
    for (int i = 0; i < 64; ++i) {
        quiet.push_back(std::make_unique<Meta>());
        REQUIRE(quiet.back()->set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
    }
    const Meta one_more;
    REQUIRE(one_more.set_mode(PERF_METAGROUP_MODE_SKIP_ISOLATED) == 0);
    REQUIRE(one_more.set_mode(PERF_METAGROUP_MODE_QUIET) == -EUSERS);
    REQUIRE(one_more.info().mode == PERF_METAGROUP_MODE_SKIP_ISOLATED);
    REQUIRE(quiet.front()->set_mode(PERF_METAGROUP_MODE_QUIET) == 0);  // it is already

    quiet.pop_back();
    REQUIRE(one_more.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
    REQUIRE(quiet.front()->set_mode(0) == 0);
    const Meta another;
    REQUIRE(another.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
    REQUIRE(quiet.front()->set_mode(PERF_METAGROUP_MODE_QUIET) == -EUSERS);
}

TEST_CASE_METHOD(NeedsQuiet,
                 "Counts of an idle CPU that its stream has read are not shown as older") {
    const NeedsStreams layer;
    const MaxStreamPercent no_limit(100);
    const IdleCpu idle;
    perf_event_attr attr = core_or_skip(PERF_FORMAT_GROUP);
    attr.config = kTestpmuInterrupts;
    const EventGroup group = group_of(idle.cpu, {attr});
    REQUIRE(idle.meta.attach(group) == 0);
    // The stream itself is not quiet: it interrupts the CPU while that is idle.
    REQUIRE(idle.meta.set_mode(0) == 0);
    const RunningStream stream(idle.meta, std::chrono::milliseconds(1), kRingPage,
                               PERF_METAGROUP_STREAM_OVERWRITE);
    REQUIRE(idle.meta.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
    std::uint64_t time = 0, count = 0;
    unsigned again = 0;
    repeat_for(
        long_time(std::chrono::seconds(8)),
        [&] {
            const Frame now = idle.framed().frames.at(0);
            if (now.record.status != PERF_METAGROUP_IDLE) return;
            if (std::exchange(time, now.record.time) == time) {
                REQUIRE(leader_count(now.payload) == count);
                ++again;
            }
            count = leader_count(now.payload);
        },
        [&] { return again > 100; });
    REQUIRE(again > 100);
}
