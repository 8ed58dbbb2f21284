// SPDX-License-Identifier: MIT
// The largest meta-groups there may be.
#include <sys/resource.h>

#include <catch2/catch_test_macros.hpp>
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

// As many members as fill the largest snapshot once one of them is large, less `spare`.
std::vector<EventGroup> nearly_too_many(const perf_metagroup_info& info, std::size_t spare) {
    const std::size_t frame = 32 + 8 + 16 * (1 + std::size_t{kManySiblings});
    const std::size_t wanted = info.max_snapshot / frame + 1 - spare;
    const auto cpus = online_cpus();
    if (wanted > cpus.size() * (info.max_per_cpu - 1))
        SKIP("too few CPUs for a snapshot of " << info.max_snapshot << " bytes");
    allow_many_files();
    std::vector<EventGroup> groups(wanted);
    for (std::size_t i = 0; i < wanted; ++i)
        groups[i].add(software_event(PERF_COUNT_SW_DUMMY, kFormat), cpus[i % cpus.size()]);
    return groups;
}

}  // namespace

TEST_CASE("The largest group that the kernel allows is read whole") {
    allow_many_files();
    EventGroup group;
    group.add(software_event(PERF_COUNT_SW_DUMMY, kFormat), 0);
    add_siblings(group, 0);
    const Meta meta;
    REQUIRE(meta.attach(group) == 0);
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

TEST_CASE("A member that would make the snapshot too large is refused, and the others stay") {
    const Meta meta;
    const auto groups = nearly_too_many(meta.info(), 1);
    REQUIRE(meta.attach(groups) == 0);
    EventGroup large;
    large.add(software_event(PERF_COUNT_SW_DUMMY, kFormat), 0);
    add_siblings(large, 0);
    REQUIRE(meta.attach(large) == -E2BIG);
    REQUIRE(meta.info().members == groups.size());
    REQUIRE(meta.read() == concatenated(groups));
}

TEST_CASE("A group that grows so that the snapshot is too large fails reads until it shrinks") {
    const Meta meta;
    auto groups = nearly_too_many(meta.info(), 0);
    REQUIRE(meta.attach(groups) == 0);
    Bytes buffer(meta.info().max_snapshot);
    add_siblings(groups.front(), online_cpus().front());
    REQUIRE(meta.read(buffer.data(), buffer.size()) == -E2BIG);
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_FRAMED) == 0);
    REQUIRE(meta.read(buffer.data(), buffer.size()) == -E2BIG);
    groups.front().fds.resize(1);
    REQUIRE(read_framed(meta).frames.size() == groups.size());
    REQUIRE(meta.set_format(PERF_METAGROUP_FORMAT_RAW) == 0);
    REQUIRE(meta.read() == concatenated(groups));
}
