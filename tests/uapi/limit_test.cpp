// SPDX-License-Identifier: MIT
// The limits of groups and meta-groups.
#include <catch2/catch_test_macros.hpp>

#include <sys/resource.h>

#include <cerrno>

#include "support/cpus.hpp"
#include "support/meta.hpp"
#include "support/perf.hpp"

using namespace metagroup::test;

namespace {

constexpr std::uint64_t kFormat = PERF_FORMAT_GROUP | PERF_FORMAT_ID;

// Nearly the most that a group may have: the kernel limits its payload to 16 KiB.
constexpr int kManySiblings = 1000;

void allow_many_files() {
    const rlimit files{100'000, 100'000};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &files) == 0);
}

void add_siblings(EventGroup& group, int cpu) {
    for (int i = 0; i < kManySiblings; ++i)
        group.add(software_event(PERF_COUNT_SW_DUMMY, kFormat), cpu);
}

}  // namespace

TEST_CASE("The largest group that the kernel allows is read whole") {
    allow_many_files();
    EventGroup group;
    group.add(software_event(PERF_COUNT_SW_DUMMY, kFormat), 0);
    add_siblings(group, 0);
    const Meta meta(group);
    REQUIRE(meta.read() == group.read());
}

TEST_CASE("A refused attach leaves the size of a read as it was") {
    const Meta meta;
    const EventGroup small = open_group(1, 0, 1, true);
    REQUIRE(meta.attach(small) == 0);
    const auto before = meta.info().framed_size;

    allow_many_files();
    const auto larger = software_event(PERF_COUNT_SW_DUMMY, kFormat | kTimes);
    std::vector<EventGroup> too_many(meta.info().max_per_cpu + 1);
    for (EventGroup& group : too_many)
        group.add(larger, 0);
    REQUIRE(meta.attach(too_many) == -E2BIG);
    REQUIRE(meta.info().framed_size == before);
    REQUIRE(meta.info().cpus == 1);
    REQUIRE(meta.read() == small.read());
}

TEST_CASE("A group that exceeds the events of its CPU is refused, and the others stay") {
    allow_many_files();
    const Meta meta;
    std::vector<EventGroup> groups(2);
    for (EventGroup& group : groups) {
        group.add(software_event(PERF_COUNT_SW_DUMMY, kFormat), 0);
        add_siblings(group, 0);
    }
    REQUIRE(meta.attach(groups) == 0);
    EventGroup third;
    third.add(software_event(PERF_COUNT_SW_DUMMY, kFormat), 0);
    for (unsigned i = 2 * (kManySiblings + 1); i < meta.info().max_events_per_cpu; ++i)
        third.add(software_event(PERF_COUNT_SW_DUMMY, kFormat), 0);
    REQUIRE(meta.attach(third) == -E2BIG);
    third.fds.pop_back();
    REQUIRE(meta.attach(third) == 0);
    groups.push_back(std::move(third));
    REQUIRE(meta.read() == concatenated(groups));
}

TEST_CASE("A group that outgrows the limit of its CPU is stale, and the others are read") {
    allow_many_files();
    const Meta meta;
    std::vector<EventGroup> groups;
    for (int i = 0; i < 3; ++i) {
        groups.push_back(open_group(0, kFormat, 1, true));
        REQUIRE(meta.attach(groups.back()) == 0);
    }
    for (EventGroup& group : groups)
        add_siblings(group, 0);

    const Framed framed = read_framed(meta);
    REQUIRE(framed.frames[0].payload == groups[0].read());
    REQUIRE(framed.frames[1].payload == groups[1].read());
    REQUIRE(framed.frames[2].record.status == PERF_METAGROUP_STALE);
    REQUIRE(framed.frames[2].payload.empty());

    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_RAW) == 0);
    REQUIRE(meta.read() == concatenated({groups[0].read(), groups[1].read()}));
    groups[2].fds.resize(1);
    REQUIRE(meta.read() == concatenated(groups));
}

TEST_CASE("A group that grows does not enlarge the frames of others") {
    allow_many_files();
    std::vector<EventGroup> groups;
    for (const int cpu : online_cpus())
        for (int i = 0; i < 32; ++i)
            groups.push_back(open_group(cpu, kFormat, 1, true));
    const Meta meta(groups);
    const auto before = read_framed(meta).head;
    add_siblings(groups.front(), online_cpus().front());

    const Framed grown = read_framed(meta);
    REQUIRE(grown.head.layout != before.layout);
    REQUIRE(grown.head.bytes < before.bytes + 2 * 16 * 1024);
    for (std::size_t i = 1; i < groups.size(); ++i)
        REQUIRE(grown.frames[i].record.frame == before.stride);
    for (std::size_t i = 0; i < groups.size(); ++i)
        REQUIRE(grown.frames[i].payload == groups[i].read());
}
