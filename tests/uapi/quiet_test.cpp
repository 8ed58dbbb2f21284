// SPDX-License-Identifier: MIT
// SET_MODE with QUIET: CPUs that sleep are not woken.
#include <catch2/catch_test_macros.hpp>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "support/cpus.hpp"
#include "support/mapping.hpp"
#include "support/meta.hpp"
#include "support/perf.hpp"

using namespace metagroup::test;

namespace {

// Counters that stand still on a CPU that sleeps.
constexpr std::uint64_t kFormat = PERF_FORMAT_GROUP | PERF_FORMAT_ID;

EventGroup open_still(int cpu, bool disabled = false) {
    EventGroup group;
    auto attr = software_event(PERF_COUNT_SW_CONTEXT_SWITCHES, kFormat);
    attr.disabled = disabled;
    group.add(attr, cpu);
    group.add(software_event(PERF_COUNT_SW_CPU_MIGRATIONS, kFormat), cpu);
    return group;
}

std::uint64_t count_of(const Bytes& payload, std::size_t event = 0) {
    std::uint64_t count = 0;
    std::memcpy(&count, payload.data() + 8 + 16 * event, sizeof(count));
    return count;
}

// The tests run on the first CPU and let the last one sleep.
struct Sleepy {
    int cpu = online_cpus().back();
    Meta meta;
    Sleepy() {
        run_on(online_cpus().front());
        REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
        REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
    }
    ~Sleepy() { run_anywhere(); }

    // Sweeps until the member is found in this state: a CPU needs time to fall asleep.
    Framed sweep_until(std::size_t member, unsigned status) const {
        for (int round = 0; round < 2000; ++round) {
            Framed framed = take_apart(meta.read());
            if (framed.frames.at(member).record.status == status) return framed;
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        FAIL("the member does not get into state " << status);
        return {};
    }
    Framed asleep() const { return sweep_until(0, PERF_METAGROUP_IDLE); }

    // Counts stand still, but kernel threads wake now and then.
    void require_payload_of(std::size_t member, const EventGroup& group) const {
        for (int round = 0;; ++round) {
            const Bytes before = group.read();
            const Bytes ours = sweep_until(member, PERF_METAGROUP_IDLE).frames[member].payload;
            if (before != group.read() && round < 50) continue;
            REQUIRE(ours == before);
            return;
        }
    }
};

// Something that a sleeping CPU has to wake for.
void work_on(int cpu) {
    std::thread([&] {
        run_on(cpu);
        for (int i = 0; i < 20; ++i)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }).join();
}

}  // namespace

TEST_CASE("The mode is told by INFO, belongs to the meta-group and can be left") {
    const Meta meta;
    REQUIRE(meta.info().mode == 0);
    for (const unsigned long mode :
         {PERF_METAGROUP_MODE_QUIET, PERF_METAGROUP_MODE_SPARE_ISOLATED,
          PERF_METAGROUP_MODE_QUIET | PERF_METAGROUP_MODE_SPARE_ISOLATED, 0UL}) {
        REQUIRE(meta.set_mode(mode) == 0);
        REQUIRE(meta.info().mode == mode);
    }
    REQUIRE(meta.set_mode(4) == -EINVAL);
    REQUIRE(meta.set_mode(~0U) == -EINVAL);
    REQUIRE(meta.info().mode == 0);
    REQUIRE(Meta().info().mode == 0);
}

TEST_CASE("The mode does not change with the format") {
    const Meta meta;
    REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    REQUIRE(meta.info().mode == PERF_METAGROUP_MODE_QUIET);
}

TEST_CASE("A member whose CPU sleeps is idle, read before the sweep, as read(2) reads it") {
    const Sleepy sleepy;
    const EventGroup group = open_still(sleepy.cpu);
    REQUIRE(sleepy.meta.attach(group) == 0);
    const Framed framed = sleepy.asleep();
    REQUIRE(framed.frames[0].record.time > 0);
    REQUIRE(framed.frames[0].record.time <= framed.head.end);
    sleepy.require_payload_of(0, group);
}

TEST_CASE("A raw sweep holds the counts of CPUs that sleep") {
    const Sleepy sleepy;
    const EventGroup group = open_still(sleepy.cpu);
    REQUIRE(sleepy.meta.attach(group) == 0);
    for (int round = 0;; ++round) {
        sleepy.asleep();
        REQUIRE(sleepy.meta.set_format(PERF_METAGROUP_FORMAT_RAW) == 0);
        const Bytes before = group.read();
        const Bytes ours = sleepy.meta.read();
        const Bytes after = group.read();
        REQUIRE(sleepy.meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
        if (before != after && round < 50) continue;
        REQUIRE(ours == before);
        break;
    }
}

TEST_CASE("A CPU that sleeps is not interrupted, whatever groups are on it") {
    const Sleepy sleepy;
    std::vector<EventGroup> groups;
    for (int i = 1; i <= 8; ++i)
        groups.push_back(open_group(sleepy.cpu, kTimes | PERF_FORMAT_GROUP, i));
    REQUIRE(sleepy.meta.attach(groups) == 0);
    sleepy.asleep();
    constexpr unsigned kSweeps = 1000;
    const auto before = function_calls(sleepy.cpu);
    for (unsigned i = 0; i < kSweeps; ++i) {
        REQUIRE(sleepy.meta.sweep() == 0);
        // Else what woke it once may keep it awake: the next sweep comes too soon.
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    // A few come from elsewhere, and from sweeps that find the CPU awake because of them.
    REQUIRE(function_calls(sleepy.cpu) - before < kSweeps / 10);
    const Framed framed = sleepy.asleep();
    for (std::size_t i = 0; i < groups.size(); ++i) {
        REQUIRE(framed.frames[i].record.status == PERF_METAGROUP_IDLE);
        REQUIRE(framed.frames[i].record.time == framed.frames[0].record.time);
        REQUIRE(framed.frames[i].payload.size() == groups[i].read().size());
    }

    // The counting sees interrupts at all.
    REQUIRE(sleepy.meta.set_mode(0) == 0);
    const auto normal = function_calls(sleepy.cpu);
    for (unsigned i = 0; i < kSweeps; ++i)
        REQUIRE(sleepy.meta.sweep() == 0);
    REQUIRE(function_calls(sleepy.cpu) - normal >= kSweeps / 2);
}

TEST_CASE("A CPU that works is interrupted and its counts are of now") {
    const Sleepy sleepy;
    const EventGroup group = open_group(sleepy.cpu, kTimes, 1);
    REQUIRE(sleepy.meta.attach(group) == 0);
    const BusyCpu busy(sleepy.cpu);
    sleepy.sweep_until(0, PERF_METAGROUP_OK);
    for (int round = 0; round < 100; ++round) {
        const Framed framed = take_apart(sleepy.meta.read());
        REQUIRE(framed.frames[0].record.status == PERF_METAGROUP_OK);
        REQUIRE(framed.head.begin <= framed.frames[0].record.time);
    }
}

TEST_CASE("What a CPU did between two sleeps is in the next sweep") {
    const Sleepy sleepy;
    const EventGroup group = open_still(sleepy.cpu);
    REQUIRE(sleepy.meta.attach(group) == 0);
    const auto before = sleepy.asleep().frames[0];
    work_on(sleepy.cpu);
    const auto after = sleepy.asleep().frames[0];
    REQUIRE(count_of(after.payload) >= count_of(before.payload) + 20);
    REQUIRE(after.record.time > before.record.time);
    sleepy.require_payload_of(0, group);
}

TEST_CASE("Enabling and disabling members of a CPU that sleeps is seen at once") {
    const Sleepy sleepy;
    const EventGroup group = open_still(sleepy.cpu);
    const EventGroup other = open_still(sleepy.cpu);
    REQUIRE(sleepy.meta.attach(group) == 0);
    REQUIRE(sleepy.meta.attach(other) == 0);
    const auto status = [&](std::size_t member) {
        return take_apart(sleepy.meta.read()).frames[member].record.status;
    };
    for (int round = 0; round < 50; ++round) {
        sleepy.asleep();
        group.control(PERF_EVENT_IOC_DISABLE);
        REQUIRE(status(0) == PERF_METAGROUP_OFF);
        REQUIRE(take_apart(sleepy.meta.read()).frames[0].payload == group.read());
        REQUIRE(status(1) != PERF_METAGROUP_OFF);
        group.control(PERF_EVENT_IOC_ENABLE);
        REQUIRE(status(0) != PERF_METAGROUP_OFF);

        sleepy.asleep();
        REQUIRE(sleepy.meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
        REQUIRE(status(0) == PERF_METAGROUP_OFF);
        REQUIRE(status(1) == PERF_METAGROUP_OFF);
        REQUIRE(sleepy.meta.control(PERF_METAGROUP_IOC_ENABLE) == 0);
        REQUIRE(status(0) != PERF_METAGROUP_OFF);
        REQUIRE(status(1) != PERF_METAGROUP_OFF);
    }
    sleepy.require_payload_of(0, group);
    sleepy.require_payload_of(1, other);
}

TEST_CASE("RESET of members of a CPU that sleeps is seen at once") {
    const Sleepy sleepy;
    const EventGroup group = open_still(sleepy.cpu);
    REQUIRE(sleepy.meta.attach(group) == 0);
    const auto count = [&] { return count_of(take_apart(sleepy.meta.read()).frames[0].payload); };
    for (const bool own : {false, true}) {
        CAPTURE(own);
        work_on(sleepy.cpu);
        sleepy.asleep();
        REQUIRE(count() >= 20);
        if (own)
            group.control(PERF_EVENT_IOC_RESET);
        else
            REQUIRE(sleepy.meta.control(PERF_METAGROUP_IOC_RESET) == 0);
        REQUIRE(count() < 20);
    }
}

TEST_CASE("Siblings that join and leave while the CPU sleeps are seen at once") {
    const Sleepy sleepy;
    EventGroup group = open_still(sleepy.cpu);
    REQUIRE(sleepy.meta.attach(group) == 0);
    const auto size = [&] { return take_apart(sleepy.meta.read()).frames[0].payload.size(); };
    auto attr = software_event(PERF_COUNT_SW_PAGE_FAULTS, kFormat);
    for (int round = 0; round < 20; ++round) {
        attr.disabled = round % 2 ? 1 : 0;  // needs no interrupt to join
        sleepy.asleep();
        group.add(attr, sleepy.cpu);
        REQUIRE(size() == 8 + 16 * group.fds.size());
    }
    sleepy.require_payload_of(0, group);
    while (group.fds.size() > 1) {
        sleepy.asleep();
        group.fds.pop_back();
        REQUIRE(size() == 8 + 16 * group.fds.size());
    }
    sleepy.require_payload_of(0, group);
}

TEST_CASE("A member that is attached while its CPU sleeps is read") {
    const Sleepy sleepy;
    const EventGroup first = open_still(sleepy.cpu), second = open_still(sleepy.cpu);
    REQUIRE(sleepy.meta.attach(first) == 0);
    for (unsigned round = 0; round < 20; ++round) {
        sleepy.asleep();
        perf_metagroup_attach out{};
        REQUIRE(sleepy.meta.attach(second, &out) == 0);
        const Framed framed = take_apart(sleepy.meta.read());
        REQUIRE(framed.frames.at(1).payload.size() == second.read().size());
        REQUIRE(framed.frames[1].record.status != PERF_METAGROUP_STALE);
        sleepy.require_payload_of(1, second);
        REQUIRE(sleepy.meta.detach(out.first) == 0);
        REQUIRE(take_apart(sleepy.meta.read()).frames.size() == 1);
    }
    sleepy.require_payload_of(0, first);
}

TEST_CASE("A quiet member whose CPU goes offline keeps its last count") {
    const Sleepy sleepy;
    const EventGroup group = open_still(sleepy.cpu);
    REQUIRE(sleepy.meta.attach(group) == 0);
    const auto before = count_of(sleepy.asleep().frames[0].payload);
    OfflineCpu offline(sleepy.cpu);
    const Frame gone = sleepy.sweep_until(0, PERF_METAGROUP_OFFLINE).frames[0];
    REQUIRE(gone.payload == group.read());
    REQUIRE(count_of(gone.payload) >= before);

    offline.back();
    const EventGroup fresh = open_still(sleepy.cpu);
    REQUIRE(sleepy.meta.attach(fresh) == 0);
    sleepy.require_payload_of(1, fresh);
}

TEST_CASE("A sweep of some CPUs wakes none of them either") {
    const Sleepy sleepy;
    const auto groups = open_everywhere(kTimes, 1);
    REQUIRE(sleepy.meta.attach(groups) == 0);
    const std::size_t last = groups.size() - 1;
    sleepy.sweep_until(last, PERF_METAGROUP_IDLE);
    const auto before = function_calls(sleepy.cpu);
    for (int i = 0; i < 1000; ++i)
        REQUIRE(sleepy.meta.sweep_on({0, sleepy.cpu}) == 0);
    REQUIRE(function_calls(sleepy.cpu) - before < 100);
    REQUIRE(take_apart(sleepy.meta.sweep_copy({0})).frames.at(0).record.status ==
            PERF_METAGROUP_OK);
}

TEST_CASE("Out of the mode, members of CPUs that sleep are read as ever") {
    const Sleepy sleepy;
    const EventGroup group = open_still(sleepy.cpu);
    REQUIRE(sleepy.meta.attach(group) == 0);
    for (int round = 0; round < 5; ++round) {
        sleepy.asleep();
        REQUIRE(sleepy.meta.set_mode(0) == 0);
        const Framed framed = take_apart(sleepy.meta.read());
        REQUIRE(framed.frames[0].record.status == PERF_METAGROUP_OK);
        REQUIRE(framed.frames[0].record.time >= framed.head.begin);
        REQUIRE(sleepy.meta.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
    }
}

TEST_CASE("A mapping shows members of CPUs that sleep") {
    const Sleepy sleepy;
    const EventGroup group = open_still(sleepy.cpu);
    REQUIRE(sleepy.meta.attach(group) == 0);
    const Mapping mapping(sleepy.meta);
    sleepy.asleep();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    for (int round = 0; round < 200; ++round) {
        REQUIRE(sleepy.meta.sweep() == 0);
        const Framed mapped = mapping.framed();
        if (mapped.frames.at(0).record.status != PERF_METAGROUP_IDLE) continue;
        REQUIRE(mapped.frames[0].record.time < mapped.head.begin);
        return;
    }
    FAIL("the CPU does not sleep");
}

TEST_CASE("There are 64 quiet meta-groups at most, and room again when one is closed") {
    std::vector<std::unique_ptr<Meta>> quiet;
    for (int i = 0; i < 64; ++i) {
        quiet.push_back(std::make_unique<Meta>());
        REQUIRE(quiet.back()->set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
    }
    const Meta one_more;
    REQUIRE(one_more.set_mode(PERF_METAGROUP_MODE_SPARE_ISOLATED) == 0);
    REQUIRE(one_more.set_mode(PERF_METAGROUP_MODE_QUIET) == -EUSERS);
    REQUIRE(one_more.info().mode == PERF_METAGROUP_MODE_SPARE_ISOLATED);
    REQUIRE(quiet.front()->set_mode(PERF_METAGROUP_MODE_QUIET) == 0);  // it is already

    quiet.pop_back();
    REQUIRE(one_more.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
    REQUIRE(quiet.front()->set_mode(0) == 0);
    const Meta another;
    REQUIRE(another.set_mode(PERF_METAGROUP_MODE_QUIET) == 0);
    REQUIRE(quiet.front()->set_mode(PERF_METAGROUP_MODE_QUIET) == -EUSERS);
}
