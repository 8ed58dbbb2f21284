// SPDX-License-Identifier: MIT
#include "metagroup/stream.hpp"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cerrno>
#include <chrono>
#include <map>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "fake_module.hpp"
#include "fake_ring.hpp"
#include "helpers.hpp"
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

MetaGroup open_group(Backend backend, const char* events = "{cpu-clock,page-faults}") {
    need_software_events();
    MetaGroup::Options options;
    options.groups = metagroup::parse_events(events);
    options.backend = backend;
    options.device = FakeModule::path();
    if (backend == Backend::module) options.cpus = metagroup::CpuList({first_cpu()});
    return MetaGroup::open(options);
}

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

// The fake module says that its members are on CPU 3, with the identifier 100.
Bytes member_sample(std::uint64_t time) {
    return sample({100, time, 3}, payload(metagroup::default_read_format, {{time}, {5}}, 8, 9));
}

// A meta-group of the fake module, and the ring of its CPU.
struct OneRing {
    OneRing() { module.ring_fds[3] = ring.fd(); }
    FakeModule module;
    const FakeRing ring;
    MetaGroup group = open_group(Backend::module);
};

// Of a ring that holds about 50 samples.
Stream::Options small(std::chrono::nanoseconds period) {
    return {.period = period, .ring_size = 4096, .watermark = 1024};
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

TEST_CASE("a stream of the module shows its rings") {
    OneRing one_ring;
    auto& [module, ring, group] = one_ring;
    Stream stream = Stream::start(group, {.period = 1ms, .ring_size = 4096, .watermark = 512});
    CHECK(module.stream.period == 1'000'000);
    CHECK(module.stream.ring_size == 4096);
    CHECK(module.stream.watermark == 512);
    CHECK(module.stream.flags == 0);
    CHECK(stream.first_ns() == 1'000'000);
    CHECK(stream.period_ns() == 1'000'000);
    ring.write(member_sample(1'000'300));
    ring.write(member_sample(2'000'300));
    CHECK(stream.wait(1s) == Stream::Wake::data);
    const auto deadlines = stream.read();
    REQUIRE(deadlines.size() == 2);
    CHECK(deadlines[1].time_ns() == 2'000'000);
    REQUIRE(deadlines[1].size() == 1);
    const Sample& one = *deadlines[1].begin();
    CHECK(one.index() == 0);
    CHECK(one.cpu() == 3);
    CHECK(one.raw(0) == 2'000'300);
    CHECK(one.raw(1) == 5);
    CHECK(one.time_enabled() == 8);
    CHECK(one.time_running() == 9);
    stream.release();
    CHECK(ring.head().data_tail == ring.head().data_head);

    ring.write(member_sample(3'000'300));
    module.stream_lost = 7;
    CHECK(stream.stop() == 7);
    CHECK(stream.stop() == 0);
    CHECK(stream.wait(-1s) == Stream::Wake::ended);
    CHECK(stream.read().size() == 1);
    CHECK(stream.read().empty());
}

TEST_CASE("the records of a stream come as they are in its rings, with their events") {
    OneRing one_ring;
    auto& [module, ring, group] = one_ring;
    Stream stream = Stream::start(group, small(1ms));
    CHECK(stream.read_records().empty());
    Bytes written;
    for (const Bytes& one : {member_sample(1'000'300), lost_samples({100, 2'000'000, 3}, 2),
                             member_sample(4'000'300)}) {
        REQUIRE(ring.write(one));
        written.insert(written.end(), one.begin(), one.end());
    }
    const auto pieces = stream.read_records();
    REQUIRE(pieces.size() == 1);
    CHECK(std::ranges::equal(pieces[0], written));
    CHECK(ring.head().data_tail == 0);
    stream.release();
    CHECK(ring.head().data_tail == ring.head().data_head);

    const auto events = stream.events();
    REQUIRE_FALSE(events.empty());
    CHECK(events[0].name == "cpu-clock");
    CHECK(events[0].ids == std::vector<std::uint64_t>{100});
    CHECK(events[0].leader == 0);
    CHECK(stream.polled().size() == 1);
}

TEST_CASE("without the module the timer leads the events of a stream") {
    MetaGroup group = open_group(Backend::per_fd, "page-faults,{cpu-clock,context-switches}");
    const Stream stream = Stream::start(group, small(1ms));
    const auto events = stream.events();
    REQUIRE(events.size() == 5);
    const char* const names[] = {"timer", "page-faults", "timer", "cpu-clock", "context-switches"};
    for (std::size_t i = 0; i < events.size(); ++i) {
        CHECK(events[i].name == names[i]);
        CHECK(events[i].leader == (i < 2 ? 0 : 2));
        CHECK(events[i].ids.size() == group.members().size() / 2);
    }
    CHECK(stream.polled().size() == group.members().size());
}

TEST_CASE("a CPU that the module has no ring for is left out") {
    const FakeModule module;
    MetaGroup group = open_group(Backend::module);
    Stream stream = Stream::start(group, small(1ms));
    CHECK(stream.read().empty());
    CHECK(module.streaming);
}

TEST_CASE("the ring of a CPU to which a member was moved is read") {
    OneRing one_ring;
    auto& [module, before, group] = one_ring;
    const FakeRing after;
    Stream stream = Stream::start(group, small(1ms));
    before.write(member_sample(1'000'300));
    REQUIRE(stream.read().size() == 1);

    module.member_cpu = 4;
    const auto moved =
        sample({100, 2'000'300, 4}, payload(metagroup::default_read_format, {{7}, {5}}, 8, 9));
    after.write(moved);
    SECTION("after some time") {
        // First the member was seen before, then the module has no ring yet.
        for (int search = 0; search < 2; ++search) {
            std::this_thread::sleep_for(110ms);
            CHECK(stream.read().empty());
        }
        module.ring_fds[4] = after.fd();
        std::this_thread::sleep_for(110ms);
        const auto deadlines = stream.read();
        REQUIRE(deadlines.size() == 1);
        CHECK(deadlines[0].begin()->cpu() == 4);
    }
    SECTION("after some time, in records") {
        module.ring_fds[4] = after.fd();
        std::this_thread::sleep_for(110ms);
        CHECK(stream.read_records().empty());  // it was seen before
        std::this_thread::sleep_for(110ms);
        const auto pieces = stream.read_records();
        REQUIRE(pieces.size() == 1);
        CHECK(std::ranges::equal(pieces[0], moved));
    }
    SECTION("at the end") {
        module.ring_fds[4] = after.fd();
        stream.stop();
        CHECK(stream.read().size() == 1);
    }
    stream.release();
    CHECK(after.head().data_tail == after.head().data_head);
}

TEST_CASE("an overwriting stream is read when it has stopped") {
    OneRing one_ring;
    auto& [module, ring, group] = one_ring;
    Stream stream = Stream::start(group, {.period = 1ms, .ring_size = 4096, .overwrite = true});
    CHECK(module.stream.flags == PERF_METAGROUP_STREAM_OVERWRITE);
    for (std::uint64_t time = 1; time <= 100; ++time)
        ring.write_backward(member_sample(time * 1'000'000));
    CHECK(stream.read().empty());
    stream.stop();
    const auto deadlines = stream.read();
    REQUIRE(deadlines.size() == 4096 / member_sample(0).size());
    CHECK(deadlines.back().time_ns() == 100'000'000);
    CHECK(deadlines.front().time_ns() == (101 - deadlines.size()) * 1'000'000);
}

TEST_CASE("a stream ends with its object, and not with one that was moved from") {
    OneRing one_ring;
    auto& [module, ring, group] = one_ring;
    {
        Stream first = Stream::start(group, small(1ms));
        const Stream second = std::move(first);
        CHECK(module.streaming);
    }
    CHECK_FALSE(module.streaming);
    std::optional<Stream> kept(Stream::start(group, small(1ms)));
    { const MetaGroup gone = std::move(group); }
    ring.write(member_sample(1'000'000));
    CHECK(kept->read().size() == 1);
    kept.reset();
    CHECK_FALSE(module.streaming);
}

TEST_CASE("a stream that the module refuses has its cause") {
    FakeModule module;
    MetaGroup group = open_group(Backend::module);
    const auto start = [&](int error) {
        module.stream_errno = error;
        return error_from([&] { Stream::start(group, small(1ms)); });
    };
    CHECK(start(ENOTTY).cause() == Cause::wrong_module);
    CHECK(start(EUSERS).cause() == Cause::too_many_streams);
    CHECK(start(EBUSY).cause() == Cause::stream_running);
    CHECK(start(ENOSPC).cause() == Cause::buffer_too_small);
    CHECK_THAT(start(ENOSPC).what(), ContainsSubstring("a ring of 4096 bytes"));
    CHECK(start(ENOMEM).cause() == Cause::no_memory);
}

TEST_CASE("a ring that cannot be mapped ends the start and the stream") {
    FakeModule module;
    module.ring_fds[3] = -1;
    MetaGroup group = open_group(Backend::module);
    const auto error = error_from([&] { Stream::start(group, small(1ms)); });
    CHECK(error.failed() == "cannot map the ring of CPU 3");
    CHECK_FALSE(module.streaming);
}

TEST_CASE("options of a stream that are out of their range are refused") {
    const FakeModule module;
    MetaGroup group = open_group(Backend::module);
    const auto refused = [&](const Stream::Options& options) {
        CHECK_THROWS_AS(Stream::start(group, options), std::invalid_argument);
    };
    refused({.period = 9'999ns});
    refused({.period = -1s});
    refused({.ring_size = 0});
    refused({.ring_size = 2048});
    refused({.ring_size = 5000});
    refused({.ring_size = std::size_t{128} << 20U});
    refused({.ring_size = 4096, .watermark = 4097});
    CHECK_FALSE(module.streaming);
}

TEST_CASE("a meta-group has one stream at a time, in both backends") {
    const FakeModule module;
    const Backend backend = GENERATE(Backend::module, Backend::per_fd);
    MetaGroup group = open_group(backend);
    Stream stream = Stream::start(group, small(10ms));
    const auto error = error_from([&] { Stream::start(group, small(10ms)); });
    CHECK(error.cause() == Cause::stream_running);
    CHECK(error.code().value() == EBUSY);
    CHECK_THAT(error.what(), ContainsSubstring("stop it first"));
    stream.stop();
    Stream next = Stream::start(group, small(10ms));
    next = Stream(std::move(stream));
    CHECK_NOTHROW(Stream::start(group, small(10ms)));
}

TEST_CASE("without the module every member is sampled") {
    const metagroup::test::BusyCpus busy;
    MetaGroup group = open_group(Backend::per_fd, "{cpu-clock,page-faults},context-switches");
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

TEST_CASE("without the module the clock of a group advances with its samples") {
    const metagroup::test::BusyCpus busy;
    MetaGroup group = open_group(Backend::per_fd, "{page-faults,cpu-clock}");
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

TEST_CASE("without the module every deadline is a sample or counted as lost") {
    MetaGroup group = open_group(Backend::per_fd);
    const std::size_t members = group.members().size();
    const bool drained = GENERATE(true, false);
    CAPTURE(drained);
    using Clock = std::chrono::steady_clock;
    const auto before = Clock::now();
    Stream stream = Stream::start(group, small(1ms));
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

TEST_CASE("wait returns at the watermark, at the timeout and at the end") {
    MetaGroup group = open_real_group(GENERATE(from_range(backends())));
    Stream fast = Stream::start(group, small(1ms));
    CHECK(fast.wait(10s) == Stream::Wake::data);
    CHECK_FALSE(fast.read().empty());
    fast.stop();
    CHECK(fast.wait(10s) == Stream::Wake::ended);
    Stream slow = Stream::start(group, small(10s));
    const auto start = std::chrono::steady_clock::now();
    CHECK(slow.wait(20ms) == Stream::Wake::timeout);
    CHECK(slow.wait(0ms) == Stream::Wake::timeout);
    CHECK(std::chrono::steady_clock::now() - start >= 20ms);
    CHECK(slow.read().empty());
}

TEST_CASE("an overwriting stream keeps the newest samples") {
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

TEST_CASE("a stream is read without allocating") {
    MetaGroup group = open_real_group(GENERATE(from_range(backends())));
    Stream stream = Stream::start(group, small(200us));
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

TEST_CASE("a group that is pinned, or read without its siblings, is sampled without the module") {
    need_software_events();
    MetaGroup::Options options;
    options.groups = metagroup::parse_events("{page-faults,context-switches}:D");
    options.backend = Backend::per_fd;
    options.read_format = metagroup::ReadFormat::total_time_enabled;
    MetaGroup group = MetaGroup::open(options);
    Stream stream = Stream::start(group, small(1ms));
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

TEST_CASE("samples larger than a ring are refused") {
    std::string events = "{cpu-clock";
    for (int i = 0; i < 600; ++i)
        events += ",page-faults";
    MetaGroup group = open_real_group(GENERATE(from_range(backends())), events + "}",
                                      metagroup::CpuList({first_cpu()}));
    const auto error = error_from([&] { Stream::start(group, small(1ms)); });
    CHECK(error.cause() == Cause::buffer_too_small);
}
