// SPDX-License-Identifier: MIT
// Streams of the kernel: without the module, and in guests of the module as well.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "helpers.hpp"
#include "metagroup/stream.hpp"
#include "support/allocation_counter.hpp"
#include "support/cpus.hpp"

using Catch::Matchers::ContainsSubstring;
using metagroup::Backend;
using metagroup::Cause;
using metagroup::Deadline;
using metagroup::MetaGroup;
using metagroup::Sample;
using metagroup::Stream;
using namespace metagroup::test;
using namespace std::chrono_literals;

namespace {

// The backends that stream here, of which the module is in guests only.
std::vector<Backend> backends() {
    if (::access(PERF_METAGROUP_DEVICE, R_OK | W_OK) != 0) return {Backend::per_fd};
    return {Backend::module, Backend::per_fd};
}

// On the backend, without a fake.
MetaGroup open_real_group(Backend backend, const std::string& events = "{cpu-clock,page-faults}",
                          std::optional<metagroup::CpuList> cpus = std::nullopt) {
    need_software_events();
    MetaGroup::Options options;
    options.groups = metagroup::parse_events(events);
    options.cpus = std::move(cpus);
    options.backend = backend;
    return MetaGroup::open(options);
}

// Adds up what a stream has.
struct Totals {
    struct Member {
        std::size_t samples = 0;
        std::uint64_t first = 0;
        std::uint64_t last = 0;
    };
    std::map<std::size_t, Member> of_member;
    std::size_t samples = 0;
    std::uint64_t lost = 0;
    std::uint64_t last = 0;
    bool ordered = true;
    bool aligned = true;

    void add(Stream& stream) {
        for (auto deadlines = stream.read(); !deadlines.empty(); deadlines = stream.read()) {
            for (const Deadline& deadline : deadlines) {
                ordered = ordered && deadline.time_ns() > last;
                aligned = aligned && deadline.time_ns() % stream.period_ns() == 0;
                last = deadline.time_ns();
                for (const Sample& one : deadline) {
                    lost += one.lost();
                    if (one.lost() > 0) continue;
                    ++samples;
                    Member& member = of_member[one.index()];
                    if (member.samples++ == 0) member.first = last;
                    member.last = last;
                }
            }
        }
    }
};

}  // namespace

TEST_CASE("Without the module, every member is sampled") {
    const metagroup::test::BusyCpus busy;
    MetaGroup group = open_real_group(Backend::per_fd, "{cpu-clock,page-faults},context-switches");
    Stream stream = Stream::start(group, {.period = 1ms});
    std::vector<std::optional<std::uint64_t>> last(group.members().size());
    std::vector<std::uint64_t> last_time(last.size());
    std::vector<std::size_t> found(last.size());
    const auto enough = [&] {
        return std::ranges::all_of(found, [](std::size_t samples) { return samples > 5; });
    };
    // Timers may be throttled on a machine that is busy.
    for (int round = 0; round < 100 && !enough(); ++round) {
        stream.wait(100ms);
        for (const Deadline& deadline : stream.read()) {
            for (const Sample& one : deadline) {
                if (one.lost() > 0) continue;
                REQUIRE(one.index() < last.size());
                CHECK(one.cpu() == group.members()[one.index()].cpu);
                REQUIRE(one.nr() == group.events(one.index()).size());
                CHECK(one.payload_bytes().size() ==
                      metagroup::payload_size(metagroup::default_read_format, one.nr() + 1));
                CHECK(one.time_ns() + 2 * stream.period_ns() > deadline.time_ns());
                CHECK(one.time_ns() > last_time[one.index()]);
                CHECK(one.time_enabled());
                CHECK(one.time_running());
                // A count does not go back.
                CHECK(one.raw(0).value() >= last[one.index()].value_or(0));
                last[one.index()] = one.raw(0);
                last_time[one.index()] = one.time_ns();
                ++found[one.index()];
            }
        }
    }
    CHECK(enough());
}

TEST_CASE("Without the module, the clock of a group advances with its samples") {
    const metagroup::test::BusyCpus busy;
    MetaGroup group = open_real_group(Backend::per_fd, "{page-faults,cpu-clock}");
    Stream stream = Stream::start(group, {.period = 1ms});
    std::map<std::size_t, std::pair<std::uint64_t, std::uint64_t>> first;
    std::map<std::size_t, std::pair<std::uint64_t, std::uint64_t>> last;
    const auto enough = [&] {
        return last.size() == group.members().size() &&
               std::ranges::all_of(last, [&](const auto& entry) {
                   return entry.second.first > first[entry.first].first + 20'000'000;
               });
    };
    for (int round = 0; round < 200 && !enough(); ++round) {
        stream.wait(50ms);
        for (const Deadline& deadline : stream.read()) {
            for (const Sample& one : deadline) {
                if (one.lost() > 0) continue;
                last[one.index()] = {one.time_ns(), one.raw(1).value()};
                first.try_emplace(one.index(), last[one.index()]);
            }
        }
    }
    REQUIRE(enough());
    for (const auto& [index, newest] : last) {
        const auto passed = newest.first - first[index].first;
        const auto counted = newest.second - first[index].second;
        CAPTURE(index, passed, counted);
        CHECK(counted <= passed + passed / 2);
        CHECK(passed <= counted + counted / 2);
    }
}

TEST_CASE("Without the module, every deadline has a sample or is counted as lost") {
    MetaGroup group = open_real_group(Backend::per_fd);
    const std::size_t members = group.members().size();
    const bool drained = GENERATE(true, false);
    CAPTURE(drained);
    using Clock = std::chrono::steady_clock;
    const auto before = Clock::now();
    Stream stream = Stream::start(group, small_rings(1ms));
    Totals totals;
    const auto started = Clock::now();
    for (int round = 0; round < 20; ++round) {
        std::this_thread::sleep_for(10ms);
        if (drained || round == 15) totals.add(stream);
    }
    const auto stopping = Clock::now();
    const std::uint64_t more = stream.stop();
    const auto most = static_cast<std::size_t>((Clock::now() - before) / 1ms + 2) * members;
    const auto least = static_cast<std::size_t>((stopping - started) / 1ms - 2) * members;
    totals.add(stream);
    CHECK(totals.ordered);
    CHECK(totals.aligned);
    if (!drained) CHECK(totals.lost > 0);
    const std::uint64_t all_of_them = totals.samples + totals.lost + more;
    CAPTURE(totals.samples, totals.lost, more);
    CHECK(all_of_them <= most);
    CHECK(all_of_them >= least);
}

TEST_CASE("A wait returns at the watermark, at the timeout and at the end") {
    MetaGroup group = open_real_group(GENERATE(from_range(backends())));
    Stream fast = Stream::start(group, small_rings(1ms));
    CHECK(fast.wait(10s) == Stream::Wake::data);
    CHECK_FALSE(fast.read().empty());
    fast.stop();
    CHECK(fast.wait(10s) == Stream::Wake::ended);
    Stream slow = Stream::start(group, small_rings(10s));
    const auto start = std::chrono::steady_clock::now();
    CHECK(slow.wait(20ms) == Stream::Wake::timeout);
    CHECK(slow.wait(0ms) == Stream::Wake::timeout);
    CHECK(std::chrono::steady_clock::now() - start >= 20ms);
    CHECK(slow.read().empty());
}

TEST_CASE("An overwriting stream keeps the newest samples") {
    const Backend backend = GENERATE(from_range(backends()));
    MetaGroup group = open_real_group(backend);
    Stream stream = Stream::start(group, {.period = 1ms, .ring_size = 4096, .overwrite = true});
    std::optional<metagroup::test::BusyCpus> busy(std::in_place);
    CHECK(stream.wait(300ms) == Stream::Wake::timeout);
    busy.reset();
    CHECK(stream.read().empty());
    const std::uint64_t lost = stream.stop();
    if (backend == Backend::per_fd) CHECK(lost == 0);
    Totals totals;
    totals.add(stream);
    CHECK(totals.ordered);
    CHECK(totals.of_member.size() == group.members().size());
    for (const auto& [index, member] : totals.of_member) {
        CAPTURE(index, member.samples, member.first, member.last, stream.first_ns());
        CHECK(member.samples > 10);
        // Of 32 bytes, and a payload of two values, their number and two times at least.
        CHECK(member.samples <= 4096 / 72);
        CHECK(member.first > stream.first_ns());
        // The oldest ones would fill the ring in 60 ms.
        CHECK(member.last > stream.first_ns() + 100'000'000);
    }
}

TEST_CASE("A stream is read without allocating") {
    MetaGroup group = open_real_group(GENERATE(from_range(backends())));
    Stream stream = Stream::start(group, small_rings(200us));
    std::size_t samples = 0;
    const auto take = [&] {
        for (auto deadlines = stream.read(); !deadlines.empty(); deadlines = stream.read())
            for (const Deadline& deadline : deadlines)
                samples += deadline.size();
    };
    stream.wait(1s);
    take();
    const AllocationCounter allocations;
    for (int round = 0; round < 20; ++round) {
        stream.wait(10ms);
        take();
    }
    CHECK(allocations.count() == 0);
    CHECK(samples > 20);
}

TEST_CASE("A group that is pinned, or read without its siblings, is sampled without the module") {
    need_software_events();
    MetaGroup::Options options;
    options.groups = metagroup::parse_events("{page-faults,context-switches}:D");
    options.backend = Backend::per_fd;
    options.read_format = metagroup::ReadFormat::total_time_enabled;
    MetaGroup group = MetaGroup::open(options);
    Stream stream = Stream::start(group, small_rings(1ms));
    CHECK(stream.wait(10s) == Stream::Wake::data);
    std::size_t samples = 0;
    for (const Deadline& deadline : stream.read()) {
        for (const Sample& one : deadline) {
            if (one.lost() > 0) continue;
            CHECK(one.nr() == 2);
            ++samples;
        }
    }
    CHECK(samples > 0);
}

TEST_CASE("Samples larger than a ring are refused") {
    std::string events = "{cpu-clock";
    for (int i = 0; i < 600; ++i)
        events += ",page-faults";
    MetaGroup group = open_real_group(GENERATE(from_range(backends())), events + "}",
                                      metagroup::CpuList({first_cpu()}));
    const auto error = error_from([&] { Stream::start(group, small_rings(1ms)); });
    CHECK(error.cause() == Cause::buffer_too_small);
}

TEST_CASE("A stream has ended in a child process, and continues in its parent") {
    const Backend backend = GENERATE(from_range(backends()));
    MetaGroup group = open_real_group(backend);
    std::optional stream(Stream::start(group, {.period = 1ms}));
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        const bool ended = stream->wait(-1ns) == Stream::Wake::ended && stream->read().empty() &&
                           stream->read_records().empty() && stream->stop() == 0;
        stream.reset();
        ::_exit(ended ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    while (!stream->read().empty()) {
    }
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (stream->read().empty() && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(10ms);
    CHECK(std::chrono::steady_clock::now() < end);
}
