// SPDX-License-Identifier: MIT
// SET_MODE with SKIP_ISOLATED. The tests tagged [isolated] need a guest with isolated CPUs.
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "fixtures.hpp"

using namespace metagroup::test;

namespace {

constexpr std::uint64_t kFormat = PERF_FORMAT_GROUP | PERF_FORMAT_ID;

// By nohz_full= or isolcpus=.
std::set<int> isolated_cpus() {
    std::set<int> isolated;
    for (const char* name : {"isolated", "nohz_full"})
        for (const int cpu : listed_cpus(std::string("/sys/devices/system/cpu/") + name))
            isolated.insert(cpu);
    return isolated;
}

// On a meta-group that skips isolated CPUs: clocks, which only their CPU can read, on each of
// those; on the others the same, or stopped.
struct IsolatedWorld {
    std::set<int> isolated = isolated_cpus();
    std::vector<int> cpus = online_cpus();
    std::vector<EventGroup> groups;
    Meta meta;
    explicit IsolatedWorld(bool stopped) {
        if (isolated.empty()) SKIP("no CPU is isolated by nohz_full= or isolcpus=");
        REQUIRE(isolated.size() < cpus.size());
        for (const int cpu : cpus)
            groups.push_back(open_group(cpu, kFormat, 2, stopped && !isolated.contains(cpu)));
        REQUIRE(meta.attach(groups) == 0);
        REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_SKIP_ISOLATED) == 0);
        run_at_home();
    }
    ~IsolatedWorld() { run_anywhere(); }
    void run_at_home() const {
        run_on(*std::ranges::find_if(cpus, [&](int cpu) { return !isolated.contains(cpu); }));
    }
    bool is_skipped(std::size_t index) const { return isolated.contains(cpus[index]); }
    Framed framed() const { return read_framed(meta); }
};

}  // namespace

TEST_CASE("SKIP_ISOLATED changes nothing where no CPU is isolated") {
    if (!isolated_cpus().empty()) SKIP("a CPU is isolated");
    const auto groups = open_everywhere(kFormat, 2, true);
    const Meta meta(groups);
    REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_SKIP_ISOLATED) == 0);
    REQUIRE(meta.read() == concatenated(groups));
    for (const Frame& frame : read_framed(meta).frames)
        REQUIRE(frame.record.status == PERF_METAGROUP_OFF);
}

TEST_CASE("Members of isolated CPUs are skipped, without payload, and the others are read",
          "[isolated]") {
    const IsolatedWorld world(true);
    const Framed framed = world.framed();
    REQUIRE(framed.head.count == world.groups.size());
    for (std::size_t i = 0; i < world.groups.size(); ++i) {
        const Frame& frame = framed.frames[i];
        CAPTURE(i);
        REQUIRE(frame.record.cpu == static_cast<unsigned>(world.cpus[i]));
        if (world.is_skipped(i)) {
            REQUIRE(frame.record.status == PERF_METAGROUP_SKIPPED);
            REQUIRE(frame.payload.empty());
        } else {
            REQUIRE(frame.record.status == PERF_METAGROUP_OFF);
            REQUIRE(frame.payload == world.groups[i].read());
        }
    }
}

TEST_CASE("A raw read has no payloads of skipped members", "[isolated]") {
    const IsolatedWorld world(true);
    Bytes expected;
    for (std::size_t i = 0; i < world.groups.size(); ++i)
        if (!world.is_skipped(i)) expected = concatenated({expected, world.groups[i].read()});
    REQUIRE(world.meta.read() == expected);
}

TEST_CASE("Isolated CPUs are not interrupted until the mode is left", "[isolated]") {
    const IsolatedWorld world(false);
    for (const int cpu : world.isolated)
        require_not_interrupted(world.meta, cpu);
    REQUIRE(world.meta.set_mode(0) == 0);
    for (const int cpu : world.isolated)
        require_interrupted(world.meta, cpu);
}

TEST_CASE("A reader on an isolated CPU reads the members there, and no others", "[isolated]") {
    const IsolatedWorld world(false);
    const int here = *world.isolated.begin();
    run_on(here);
    const Framed framed = world.framed();
    world.run_at_home();
    for (std::size_t i = 0; i < world.groups.size(); ++i) {
        const bool skipped = world.is_skipped(i) && world.cpus[i] != here;
        REQUIRE(framed.frames[i].record.status ==
                (skipped ? PERF_METAGROUP_SKIPPED : PERF_METAGROUP_OK));
    }
}

TEST_CASE("Without SKIP_ISOLATED, members of isolated CPUs are read", "[isolated]") {
    const IsolatedWorld world(true);
    world.framed();
    REQUIRE(world.meta.set_mode(0) == 0);
    const Framed all = world.framed();
    for (std::size_t i = 0; i < world.groups.size(); ++i) {
        REQUIRE(all.frames[i].record.status ==
                (world.is_skipped(i) ? PERF_METAGROUP_OK : PERF_METAGROUP_OFF));
        REQUIRE(all.frames[i].payload.size() == world.groups[i].read().size());
    }
    REQUIRE(world.meta.set_mode(PERF_METAGROUP_MODE_SKIP_ISOLATED) == 0);
    const Framed framed = world.framed();
    for (std::size_t i = 0; i < world.groups.size(); ++i)
        if (world.is_skipped(i)) REQUIRE(framed.frames[i].payload.empty());
}

TEST_CASE("Members of isolated CPUs that another CPU can read are read, without an interrupt",
          "[isolated]") {
    const IsolatedWorld world(true);
    const int cpu = *world.isolated.begin();
    const EventGroup running = open_software(cpu, kFormat);
    const EventGroup stopped = open_software(cpu, kFormat, true);
    const EventGroup off = open_group(cpu, kFormat, 2, true);
    const Meta meta(running, stopped, off);
    REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_SKIP_ISOLATED) == 0);

    require_not_interrupted(meta, cpu);
    const Bytes before = running.read();
    const Framed framed = read_framed(meta);
    const auto& frames = framed.frames;
    REQUIRE(frames.at(0).record.status == PERF_METAGROUP_OK);
    require_between(before, frames[0].payload, running.read());
    REQUIRE(frames.at(1).record.status == PERF_METAGROUP_OFF);
    REQUIRE(frames[1].payload == stopped.read());
    REQUIRE(frames.at(2).record.status == PERF_METAGROUP_OFF);
    REQUIRE(frames[2].payload == off.read());
}

TEST_CASE("A member of an isolated CPU is skipped while it runs, and read when it does not",
          "[isolated]") {
    const IsolatedWorld world(false);
    const auto index = static_cast<std::size_t>(
        std::ranges::find_if(world.cpus, [&](int cpu) { return world.isolated.contains(cpu); }) -
        world.cpus.begin());
    const EventGroup& group = world.groups[index];
    for (int round = 0; round < 3; ++round) {
        REQUIRE(world.framed().frames[index].record.status == PERF_METAGROUP_SKIPPED);
        group.control(PERF_EVENT_IOC_DISABLE);
        const Frame frame = world.framed().frames[index];
        REQUIRE(frame.record.status == PERF_METAGROUP_OFF);
        REQUIRE(frame.payload == group.read());
        group.control(PERF_EVENT_IOC_ENABLE);
    }
}

TEST_CASE("A member of an isolated CPU that waits for a counter is read", "[isolated]") {
    const IsolatedWorld world(false);
    const int cpu = *world.isolated.begin();
    const auto attr = testpmu_or_skip(kFormat);
    // Until the end: with a counter free, the next rotation would start the event.
    const TestpmuCounters none(0);
    const EventGroup waiting = group_of(cpu, {attr});
    const Meta meta(waiting);
    REQUIRE(meta.set_mode(PERF_METAGROUP_MODE_SKIP_ISOLATED) == 0);
    const Frame frame = read_framed(meta).frames.at(0);
    REQUIRE(frame.record.status == PERF_METAGROUP_INACTIVE);
    REQUIRE(frame.payload == waiting.read());
}

TEST_CASE("A member that is attached to an isolated CPU later is skipped", "[isolated]") {
    const IsolatedWorld world(true);
    const EventGroup late = open_group(*world.isolated.begin(), kFormat, 1);
    REQUIRE(world.meta.attach(late) == 0);
    const Mapping mapping(world.meta);
    REQUIRE(world.meta.sweep() == 0);
    REQUIRE(mapping.framed().frames.back().record.status == PERF_METAGROUP_SKIPPED);
    REQUIRE(world.framed().frames.back().record.status == PERF_METAGROUP_SKIPPED);
}

TEST_CASE("A sweep of isolated CPUs skips their members", "[isolated]") {
    const IsolatedWorld world(false);
    const int cpu = *world.isolated.begin();
    REQUIRE(world.meta.sweep_copy({cpu}).empty());
    REQUIRE(world.meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    const Framed framed = take_apart(world.meta.sweep_copy({cpu}));
    REQUIRE(framed.head.count == 1);
    REQUIRE(framed.frames[0].record.status == PERF_METAGROUP_SKIPPED);
}

TEST_CASE("With QUIET and SKIP_ISOLATED, only isolated CPUs are skipped", "[isolated]") {
    const IsolatedWorld world(false);
    REQUIRE(world.meta.set_mode(PERF_METAGROUP_MODE_QUIET | PERF_METAGROUP_MODE_SKIP_ISOLATED) ==
            0);
    for (int round = 0; round < 100; ++round) {
        const Framed framed = world.framed();
        for (std::size_t i = 0; i < world.groups.size(); ++i) {
            const auto status = framed.frames[i].record.status;
            CAPTURE(i, status);
            if (world.is_skipped(i)) {
                REQUIRE(status == PERF_METAGROUP_SKIPPED);
            } else {
                REQUIRE((status == PERF_METAGROUP_OK || status == PERF_METAGROUP_IDLE));
            }
        }
    }
}

TEST_CASE("Members of an isolated CPU that goes offline are read", "[isolated]") {
    const IsolatedWorld world(false);
    const OfflineCpu offline(*world.isolated.begin());
    const Framed framed = world.framed();
    for (std::size_t i = 0; i < world.groups.size(); ++i) {
        const Frame& frame = framed.frames[i];
        CAPTURE(i);
        if (world.cpus[i] == offline.cpu()) {
            REQUIRE(frame.record.status == PERF_METAGROUP_OFFLINE);
            REQUIRE(frame.payload == world.groups[i].read());
        } else {
            REQUIRE((frame.record.status == PERF_METAGROUP_SKIPPED) == world.is_skipped(i));
        }
    }
}
