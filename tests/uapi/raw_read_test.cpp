// SPDX-License-Identifier: MIT
// RAW reads against the oracle: the members' own read(2)s.
#include <catch2/catch_test_macros.hpp>

#include <cerrno>
#include <fstream>

#include "support/cpus.hpp"
#include "support/meta.hpp"
#include "support/perf.hpp"

using namespace metagroup::test;

namespace {

// Let the counters run a little, then stop them.
void count_and_stop(const Meta& meta) {
    REQUIRE(meta.control(PERF_METAGROUP_IOC_ENABLE) == 0);
    burn_ms(2);
    REQUIRE(meta.control(PERF_METAGROUP_IOC_DISABLE) == 0);
}

}  // namespace

TEST_CASE(
    "Stopped counters read the same bytes as their own reads, in every read format and size") {
    std::size_t formats = 0;
    for (std::uint64_t read_format = 0; read_format < kReadFormats; ++read_format) {
        if (!kernel_knows(read_format)) continue;
        ++formats;
        for (int events = 1; events <= 8; ++events) {
            CAPTURE(read_format, events);
            const auto groups = open_everywhere(read_format, events, true);
            const Meta meta;
            REQUIRE(meta.attach(groups) == 0);
            count_and_stop(meta);
            REQUIRE(meta.read() == concatenated(groups));
        }
    }
    // PERF_FORMAT_LOST is the only one that a kernel of today may lack.
    REQUIRE(formats >= kReadFormats / 2);
}

TEST_CASE("Counters that were never enabled read the same bytes as their own reads") {
    const auto groups = open_everywhere(kTimes | PERF_FORMAT_GROUP, 3, true);
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    REQUIRE(meta.read() == concatenated(groups));
}

TEST_CASE("Several groups on one CPU read in attach order, with different formats and sizes") {
    std::vector<EventGroup> groups;
    const auto cpus = online_cpus();
    // CPUs taken in turn, so that attach order is not the order of CPUs.
    for (int i = 0; i < 12; ++i) {
        const int cpu = cpus[static_cast<std::size_t>(i) % cpus.size()];
        groups.push_back(open_group(cpu, static_cast<std::uint64_t>(i) & 15, 1 + i % 5, true));
    }
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    count_and_stop(meta);
    REQUIRE(meta.read() == concatenated(groups));
}

TEST_CASE("Members that were attached one by one read like those attached together") {
    const auto groups = open_everywhere(kTimes | PERF_FORMAT_GROUP | PERF_FORMAT_ID, 2, true);
    const Meta meta;
    for (const auto& group : groups)
        REQUIRE(meta.attach(group) == 0);
    count_and_stop(meta);
    REQUIRE(meta.read() == concatenated(groups));
}

TEST_CASE("Running counters read between two reads of their own") {
    for (const std::uint64_t group_bit : {std::uint64_t{0}, std::uint64_t{PERF_FORMAT_GROUP}}) {
        const auto groups = open_everywhere(kTimes | group_bit, 4);
        const Meta meta;
        REQUIRE(meta.attach(groups) == 0);
        for (int round = 0; round < 200; ++round) {
            const auto before = words(concatenated(groups));
            const auto ours = words(meta.read());
            const auto after = words(concatenated(groups));
            REQUIRE(ours.size() == before.size());
            for (std::size_t i = 0; i < ours.size(); ++i) {
                CAPTURE(group_bit, round, i);
                REQUIRE(before[i] <= ours[i]);
                REQUIRE(ours[i] <= after[i]);
            }
        }
    }
}

TEST_CASE("Running clocks and times advance from one read to the next, siblings' too") {
    // No read(2) of a member in between: it would bring up to date what a sweep has left.
    for (const std::uint64_t read_format : {std::uint64_t{0}, kTimes, kTimes | PERF_FORMAT_GROUP}) {
        std::vector<EventGroup> groups;
        for (const int cpu : online_cpus()) {
            EventGroup& group = groups.emplace_back();
            for (int i = 0; i < 3; ++i)
                group.add(software_event(PERF_COUNT_SW_CPU_CLOCK, read_format), cpu);
        }
        const Meta meta;
        REQUIRE(meta.attach(groups) == 0);
        const std::size_t per_member = meta.info().raw_size / 8 / groups.size();
        const bool grouped = read_format & PERF_FORMAT_GROUP;
        auto last = words(meta.read());
        for (int round = 0; round < 100; ++round) {
            const auto now = words(meta.read());
            for (std::size_t i = 0; i < now.size(); ++i) {
                CAPTURE(read_format, round, i);
                if (grouped && i % per_member == 0)
                    REQUIRE(now[i] == 3);
                else
                    REQUIRE(now[i] > last[i]);
            }
            last = now;
        }
    }
}

TEST_CASE("Events of the msr PMU read the same bytes as their own reads") {
    perf_event_attr attr{};
    std::ifstream type("/sys/bus/event_source/devices/msr/type");
    if (!(type >> attr.type)) SKIP("this machine has no msr PMU");
    attr.size = sizeof(attr);
    attr.config = 0;  // tsc
    attr.disabled = 1;
    attr.read_format = kTimes | PERF_FORMAT_GROUP;

    std::vector<EventGroup> groups;
    for (const int cpu : online_cpus())
        groups.emplace_back().add(attr, cpu);
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    count_and_stop(meta);
    const Bytes ours = meta.read();
    REQUIRE(ours == concatenated(groups));
    REQUIRE(words(ours)[3] > 0);
}

TEST_CASE("An empty meta-group reads as nothing") {
    const Meta meta;
    char byte = 'x';
    REQUIRE(meta.read(&byte, 1) == 0);
    REQUIRE(byte == 'x');
}

TEST_CASE("A buffer that is one byte too small is refused and loses nothing") {
    const auto groups = open_everywhere(PERF_FORMAT_GROUP, 3, true);
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    count_and_stop(meta);
    const Bytes expected = concatenated(groups);
    Bytes buffer(expected.size(), 0xaa);
    REQUIRE(meta.read(buffer.data(), expected.size() - 1) == -ENOSPC);
    REQUIRE(meta.read(buffer.data(), 0) == -ENOSPC);
    REQUIRE(meta.read(buffer.data(), expected.size()) == static_cast<long>(expected.size()));
    REQUIRE(buffer == expected);
}

TEST_CASE("A larger buffer is left alone behind the payloads") {
    const auto groups = open_everywhere(0, 1, true);
    const Meta meta;
    REQUIRE(meta.attach(groups) == 0);
    const Bytes expected = concatenated(groups);
    Bytes buffer(expected.size() + 64, 0xaa);
    REQUIRE(meta.read(buffer.data(), buffer.size()) == static_cast<long>(expected.size()));
    for (std::size_t i = expected.size(); i < buffer.size(); ++i)
        REQUIRE(buffer[i] == 0xaa);
}
