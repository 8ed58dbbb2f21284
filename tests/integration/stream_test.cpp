// SPDX-License-Identifier: MIT
// Streams through the library: the module's timers, and those without it.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <metagroup/stream.hpp>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "fixtures.hpp"
#include "support/background.hpp"
#include "support/cpus.hpp"
#include "support/perf.hpp"

using metagroup::Backend;
using metagroup::CpuList;
using metagroup::Deadline;
using metagroup::MetaGroup;
using metagroup::Sample;
using metagroup::Snapshot;
using metagroup::Stream;
namespace test = metagroup::test;
using namespace std::chrono_literals;

namespace {

// Skips the test if the module has no streams.
MetaGroup open_group(const char* events = test::kEvents, bool start_disabled = false,
                     bool quiet = false, std::optional<CpuList> cpus = std::nullopt) {
    if ((metagroup::Device::open().info().features & PERF_METAGROUP_FEATURE_STREAM) == 0)
        SKIP("the module has no streams");
    MetaGroup::Options options;
    options.groups = metagroup::parse_events(events);
    options.backend = Backend::module;
    options.start_disabled = start_disabled;
    options.mode.quiet = quiet;
    options.cpus = std::move(cpus);
    return MetaGroup::open(options);
}

// Of an event whose counts stand still while a CPU is idle. Skips the test if there is none, or no
// CPU beside a busy one.
MetaGroup open_quiet_group() {
    if (test::online_cpus().size() < 2) SKIP("needs two CPUs");
    if (!std::filesystem::exists("/sys/bus/event_source/devices/metagroup_core"))
        SKIP("the module metagroup_testpmu is not loaded");
    return open_group("{metagroup_core/config=0/}", false, true);
}

// All that a stream has of each member.
struct Collected {
    struct Member {
        int cpu = -1;  // of the last sample
        std::uint64_t samples = 0;
        std::uint64_t lost = 0, lost_since = 0;  // before and after the last sample
        std::uint64_t first = 0, last = 0;       // deadlines
        std::vector<std::uint64_t> counts;       // of the last sample
        std::vector<std::uint64_t> sums;         // of the differences
        std::vector<std::byte> payload;          // of the last sample
    };
    std::vector<Member> members;
    std::uint64_t last = 0;
    bool ordered = true, aligned = true, in_time = true;

    explicit Collected(const MetaGroup& group) : members(group.members().size()) {}

    void add(Stream& stream) {
        for (auto deadlines = stream.read(); !deadlines.empty(); deadlines = stream.read()) {
            for (const Deadline& deadline : deadlines) {
                ordered = ordered && deadline.time_ns() > last;
                aligned = aligned && deadline.time_ns() % stream.period_ns() == 0;
                last = deadline.time_ns();
                for (const Sample& sample : deadline)
                    add(sample, last, stream.period_ns());
            }
        }
    }

    void add(const Sample& sample, std::uint64_t deadline, std::uint64_t period) {
        Member& member = members.at(sample.index());
        member.lost_since += sample.lost();
        if (sample.lost() > 0) return;
        member.lost += std::exchange(member.lost_since, 0);
        in_time = in_time && sample.time_ns() >= deadline && sample.time_ns() < deadline + period;
        if (member.samples++ == 0) member.first = deadline;
        member.last = deadline;
        member.cpu = sample.cpu();
        member.sums.resize(sample.nr());
        const bool counted = !member.counts.empty();
        member.counts.resize(sample.nr());
        for (std::size_t i = 0; i < sample.nr(); ++i) {
            if (counted) member.sums[i] += sample.raw(i).value() - member.counts[i];
            member.counts[i] = sample.raw(i).value();
        }
        member.payload.assign(sample.payload_bytes().begin(), sample.payload_bytes().end());
    }
};

// Reads until every member has `samples` samples, or it takes too long.
void collect(Stream& stream, Collected& all, std::uint64_t samples) {
    const auto limit = std::chrono::steady_clock::now() + 60s;
    const auto enough = [&] {
        return std::ranges::all_of(all.members,
                                   [&](const auto& member) { return member.samples >= samples; });
    };
    while (!enough() && std::chrono::steady_clock::now() < limit) {
        stream.wait(20ms);
        all.add(stream);
    }
    REQUIRE(enough());
}

}  // namespace

TEST_CASE("Every deadline of a stream has a sample or is counted as lost") {
    MetaGroup group = open_group();
    Stream stream = Stream::start(group, {.period = 1ms});
    Collected all(group);
    collect(stream, all, 200);
    std::uint64_t lost_at_end = stream.stop();
    const std::uint64_t stopped = test::monotonic_ns();
    all.add(stream);
    REQUIRE(all.ordered);
    REQUIRE(all.aligned);
    REQUIRE(stream.first_ns() % stream.period_ns() == 0);
    std::uint64_t missing = 0;
    for (std::size_t i = 0; i < all.members.size(); ++i) {
        const auto& member = all.members[i];
        CAPTURE(i, member.samples, member.lost, member.first, member.last, stream.first_ns());
        lost_at_end += member.lost_since;
        REQUIRE(member.samples + member.lost ==
                (member.last - stream.first_ns()) / stream.period_ns() + 1);
        missing += (stopped - member.last) / stream.period_ns();
    }
    // Each CPU has one member, and at most one deadline may pass while the stream stops.
    CAPTURE(lost_at_end, missing);
    REQUIRE(lost_at_end <= missing);
}

TEST_CASE("A sample is taken within the period after its deadline") {
    MetaGroup group = open_group();
    Stream stream = Stream::start(group, {.period = 2ms});
    Collected all(group);
    collect(stream, all, 50);
    REQUIRE(all.in_time);
}

TEST_CASE("The last sample of stopped counters is byte for byte what a read returns") {
    MetaGroup group = open_group();
    test::burn_ms(5);
    group.disable();
    Stream stream = Stream::start(group, {.period = 1ms});
    Collected all(group);
    collect(stream, all, 5);
    Snapshot snapshot;
    group.read(snapshot);
    for (std::size_t i = 0; i < snapshot.size(); ++i)
        REQUIRE(std::ranges::equal(all.members[i].payload, snapshot[i].payload_bytes()));
}

TEST_CASE("The differences of a stream add up to the difference of two sweeps") {
    MetaGroup group = open_group(test::kEvents, true);
    Snapshot before, after;
    group.read(before);
    Stream stream = Stream::start(group, {.period = 1ms});
    Collected all(group);
    collect(stream, all, 5);  // of counters that have not begun
    group.enable();
    test::burn_ms(30);
    collect(stream, all, 30);
    group.disable();
    group.read(after);
    // And some more, so that the last sample is one of counters that stand still.
    std::uint64_t samples = 0;
    for (const auto& member : all.members)
        samples = std::max(samples, member.samples);
    collect(stream, all, samples + 50);
    for (std::size_t i = 0; i < after.size(); ++i) {
        REQUIRE(all.members[i].sums.size() == after[i].nr());
        for (std::size_t event = 0; event < after[i].nr(); ++event) {
            CAPTURE(i, event);
            REQUIRE(all.members[i].sums[event] ==
                    after[i].raw(event).value() - before[i].raw(event).value());
        }
    }
}

TEST_CASE("A stream has a sample of each of several members of a CPU") {
    MetaGroup group = open_group("{cpu-clock,page-faults},context-switches");
    Stream stream = Stream::start(group, {.period = 1ms});
    Collected all(group);
    collect(stream, all, 20);
    for (std::size_t i = 0; i < all.members.size(); ++i)
        REQUIRE(all.members[i].counts.size() == group.events(i).size());
}

TEST_CASE("The samples of a member are read after its PMU moves it to a CPU without members") {
    if (test::online_cpus().size() < 2) SKIP("needs two CPUs");
    if (!test::testpmu_event(0)) SKIP("the module metagroup_testpmu is not loaded");
    const int from = test::online_cpus().front(), to = test::online_cpus().back();
    MetaGroup group = open_group("{metagroup_test/config=0/}", false, false, CpuList({from}));
    const bool moved_last = GENERATE(false, true);
    CAPTURE(moved_last);
    Stream stream = Stream::start(group, {.period = 1ms});
    Collected all(group);
    collect(stream, all, 10);
    test::testpmu_move(from, to);
    if (moved_last) {
        std::this_thread::sleep_for(1s);
        stream.stop();
        all.add(stream);
    } else {
        collect(stream, all, all.members.front().samples + 200);
    }
    REQUIRE(all.members.front().cpu == to);
    REQUIRE(all.ordered);
}

TEST_CASE("A stream that is not read counts lost deadlines") {
    MetaGroup group = open_group();
    Stream stream = Stream::start(group, {.period = 1ms, .ring_size = 4096});
    std::this_thread::sleep_for(300ms);
    Collected all(group);
    collect(stream, all, 100);
    for (const auto& member : all.members) {
        CAPTURE(member.samples, member.lost);
        REQUIRE(member.lost > 0);
        REQUIRE(member.samples + member.lost ==
                (member.last - stream.first_ns()) / stream.period_ns() + 1);
    }
}

TEST_CASE("Sweeps work while a stream is running") {
    MetaGroup group = open_group();
    Stream stream = Stream::start(group, {.period = 1ms});
    Snapshot snapshot;
    Collected all(group);
    for (int round = 0; round < 200; ++round)
        group.read(snapshot);
    collect(stream, all, 20);
    group.read(snapshot);
    for (std::size_t i = 0; i < snapshot.size(); ++i)
        REQUIRE(snapshot[i].raw(0).value() >= all.members[i].counts[0]);
}

TEST_CASE("An offline CPU does not delay a stream") {
    if (test::online_cpus().size() < 2) SKIP("needs two CPUs");
    MetaGroup group = open_group();
    Stream stream = Stream::start(group, {.period = 1ms});
    Collected all(group);
    collect(stream, all, 10);
    const test::OfflineCpu offline(test::online_cpus().back());
    all.add(stream);
    const std::uint64_t before = all.members.front().samples;
    for (int round = 0; round < 100; ++round) {
        stream.wait(10ms);
        all.add(stream);
    }
    REQUIRE(all.members.front().samples > before + 100);
    REQUIRE(all.ordered);
}

TEST_CASE("In quiet mode idle CPUs do not delay a stream") {
    MetaGroup group = open_quiet_group();
    const test::BusyCpu busy(test::online_cpus().front());
    Stream stream = Stream::start(group, {.period = 1ms});
    Collected all(group);
    for (int round = 0; round < 50; ++round) {
        stream.wait(20ms);
        all.add(stream);
    }
    const std::uint64_t late = test::monotonic_ns() - all.last;
    CAPTURE(late, all.members.front().samples);
    REQUIRE(all.ordered);
    REQUIRE(all.members.front().samples > 100);
    REQUIRE(late < 1'000'000'000);
}

TEST_CASE("Waiting uses no CPU time while samples are held back") {
    MetaGroup group = open_quiet_group();
    const test::BusyCpu busy(test::online_cpus().front());
    // The first sample of the busy CPU exceeds the watermark, and idle CPUs have none.
    Stream stream = Stream::start(group, {.period = 1ms, .watermark = 1});
    Collected all(group);
    unsigned rounds = 0;
    for (const std::uint64_t begin = test::monotonic_ns();
         test::monotonic_ns() < begin + 1'000'000'000; ++rounds) {
        stream.wait(100ms);
        all.add(stream);
    }
    CAPTURE(all.members.front().samples);
    REQUIRE(all.members.front().samples > 100);
    // Up to one for each sample; a loop that does not wait has many thousands.
    REQUIRE(rounds < 2500);
}
