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

}  // namespace

TEST_CASE("A stream of the module shows its rings") {
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

TEST_CASE("The records of a stream are returned as they are in its rings, with their events") {
    OneRing one_ring;
    auto& [module, ring, group] = one_ring;
    Stream stream = Stream::start(group, small_rings(1ms));
    CHECK(stream.read_records().empty());
    Bytes written;
    for (const Bytes& one : {member_sample(1'000'300), lost_samples({100, 2'000'000, 3}, 2),
                             member_sample(4'000'300)}) {
        REQUIRE(ring.write(one));
        written.insert(written.end(), one.begin(), one.end());
    }
    const auto pieces = stream.read_records();
    REQUIRE(pieces.size() == 1);
    CHECK(std::ranges::equal(pieces[0].bytes(), written));
    CHECK(ring.head().data_tail == 0);
    stream.release();
    CHECK(ring.head().data_tail == ring.head().data_head);

    const auto events = stream.events();
    REQUIRE_FALSE(events.empty());
    CHECK(events[0].name == "cpu-clock");
    CHECK(events[0].ids == std::vector<std::uint64_t>{100});
    CHECK(events[0].leader == 0);
    CHECK(stream.poll_fds().size() == 1);
}

TEST_CASE("Without the module, the timer is the leader of a stream's events") {
    MetaGroup group = open_group(Backend::per_fd, "page-faults,{cpu-clock,context-switches}");
    const Stream stream = Stream::start(group, small_rings(1ms));
    const auto events = stream.events();
    REQUIRE(events.size() == 5);
    const char* const names[] = {"timer", "page-faults", "timer", "cpu-clock", "context-switches"};
    for (std::size_t i = 0; i < events.size(); ++i) {
        CHECK(events[i].name == names[i]);
        CHECK(events[i].leader == (i < 2 ? 0 : 2));
        CHECK(events[i].ids.size() == group.members().size() / 2);
    }
    CHECK(stream.poll_fds().size() == group.members().size());
}

TEST_CASE("A CPU for which the module has no ring is left out") {
    const FakeModule module;
    MetaGroup group = open_group(Backend::module);
    Stream stream = Stream::start(group, small_rings(1ms));
    CHECK(stream.read().empty());
    CHECK(module.streaming);
}

TEST_CASE("The ring of a CPU to which a member was moved is read") {
    OneRing one_ring;
    auto& [module, before, group] = one_ring;
    const FakeRing after;
    Stream stream = Stream::start(group, small_rings(1ms));
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
        CHECK(std::ranges::equal(pieces[0].bytes(), moved));
    }
    SECTION("at the end") {
        module.ring_fds[4] = after.fd();
        stream.stop();
        CHECK(stream.read().size() == 1);
    }
    stream.release();
    CHECK(after.head().data_tail == after.head().data_head);
}

TEST_CASE("An overwriting stream is read after it has stopped") {
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

TEST_CASE("A stream ends with its object, but not with a moved-from object") {
    OneRing one_ring;
    auto& [module, ring, group] = one_ring;
    {
        Stream first = Stream::start(group, small_rings(1ms));
        const Stream second = std::move(first);
        CHECK(module.streaming);
    }
    CHECK_FALSE(module.streaming);
    std::optional<Stream> kept(Stream::start(group, small_rings(1ms)));
    { const MetaGroup gone = std::move(group); }
    ring.write(member_sample(1'000'000));
    CHECK(kept->read().size() == 1);
    kept.reset();
    CHECK_FALSE(module.streaming);
}

TEST_CASE("A stream that the module refuses reports the cause") {
    FakeModule module;
    MetaGroup group = open_group(Backend::module);
    const auto start = [&](int error) {
        module.stream_errno = error;
        return error_from([&] { Stream::start(group, small_rings(1ms)); });
    };
    CHECK(start(ENOTTY).cause() == Cause::wrong_module);
    CHECK(start(EUSERS).cause() == Cause::too_many_streams);
    CHECK(start(EBUSY).cause() == Cause::stream_running);
    CHECK(start(ENOSPC).cause() == Cause::buffer_too_small);
    CHECK_THAT(start(ENOSPC).what(), ContainsSubstring("a ring of 4096 bytes"));
    CHECK(start(ENOMEM).cause() == Cause::no_memory);
}

TEST_CASE("A ring that cannot be mapped fails the start and stops the stream") {
    FakeModule module;
    module.ring_fds[3] = -1;
    MetaGroup group = open_group(Backend::module);
    const auto error = error_from([&] { Stream::start(group, small_rings(1ms)); });
    CHECK(error.operation() == "cannot map the ring of CPU 3");
    CHECK_FALSE(module.streaming);
}

TEST_CASE("Stream options that are out of range are refused") {
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

TEST_CASE("A meta-group has one stream at a time, in both backends") {
    const FakeModule module;
    const Backend backend = GENERATE(Backend::module, Backend::per_fd);
    MetaGroup group = open_group(backend);
    Stream stream = Stream::start(group, small_rings(10ms));
    const auto error = error_from([&] { Stream::start(group, small_rings(10ms)); });
    CHECK(error.cause() == Cause::stream_running);
    CHECK(error.code().value() == EBUSY);
    CHECK_THAT(error.what(), ContainsSubstring("stop it first"));
    stream.stop();
    Stream next = Stream::start(group, small_rings(10ms));
    next = Stream(std::move(stream));
    CHECK_NOTHROW(Stream::start(group, small_rings(10ms)));
}
