// SPDX-License-Identifier: MIT
#include "ring.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>
#include <span>
#include <vector>

#include "fake_ring.hpp"
#include "helpers.hpp"
#include "support/allocation_counter.hpp"

using Catch::Matchers::ContainsSubstring;
using metagroup::Cause;
using metagroup::detail::Ring;
using metagroup::detail::RingRecord;
using namespace metagroup::test;

namespace {

constexpr std::uint64_t group_format = metagroup::ReadFormat::group;

Ring ring_of(const FakeRing& fake, Ring::Order order = Ring::Order::forward) {
    return {fake.fd(), 0, fake.bytes(), order, "the ring of CPU 3"};
}

Bytes numbered(std::uint64_t number, std::size_t events = 1) {
    return sample({7, number, 3}, payload(group_format, std::vector<Event>(events, Event{number})));
}

// The times of all records that can be read now.
std::vector<std::uint64_t> times_of(Ring& ring) {
    std::vector<std::uint64_t> found;
    for (ring.update(); ring.front() != nullptr; ring.pop())
        found.push_back(ring.front()->time);
    return found;
}

// The reason why these bytes are refused as the first record.
std::string ring_refusal(const Bytes& bytes, std::uint64_t written = 64) {
    const FakeRing fake;
    fake.put(0, bytes);
    fake.head().data_head = written;
    Ring ring = ring_of(fake);
    const auto error = error_from([&] { ring.update(); });
    CHECK(error.cause() == Cause::bad_ring);
    CHECK(error.operation() == "cannot read the ring of CPU 3");
    return error.reason();
}

Bytes header_of(std::uint32_t type, std::uint16_t size) {
    Bytes bytes;
    append(bytes, perf_event_header{type, 0, size});
    return bytes;
}

}  // namespace

TEST_CASE("A ring returns samples and losses in the order in which they were written") {
    const FakeRing fake;
    Ring ring = ring_of(fake);
    ring.update();
    CHECK(ring.front() == nullptr);
    const Bytes counts = payload(group_format, {{11}, {22}});
    fake.write(lost_samples({7, 90, 3}, 5));
    fake.write(sample({7, 100, 3}, counts));
    fake.write(other(PERF_RECORD_LOST, {8, 200, 3}, {8, 4}));
    CHECK(ring.front() == nullptr);
    ring.update();

    REQUIRE(ring.front() != nullptr);
    CHECK(ring.front()->id == 7);
    CHECK(ring.front()->time == 90);
    CHECK(ring.front()->cpu == 3);
    CHECK(ring.front()->lost == 5);
    CHECK(ring.front()->payload.empty());
    ring.pop();
    REQUIRE(ring.front() != nullptr);
    CHECK(ring.front()->id == 7);
    CHECK(ring.front()->time == 100);
    CHECK(ring.front()->cpu == 3);
    CHECK(ring.front()->lost == 0);
    CHECK(std::ranges::equal(ring.front()->payload, counts));
    ring.pop();
    REQUIRE(ring.front() != nullptr);
    CHECK(ring.front()->id == 8);
    CHECK(ring.front()->time == 200);
    CHECK(ring.front()->lost == 4);
    ring.pop();
    CHECK(ring.front() == nullptr);
}

TEST_CASE("Records of other types, and losses of nothing, are skipped") {
    const FakeRing fake;
    fake.write(other(PERF_RECORD_THROTTLE, {7, 50, 3}, {1, 2, 3}));
    fake.write(numbered(60));
    fake.write(record(12345, {}));
    fake.write(lost_samples({7, 65, 3}, 0));
    fake.write(numbered(70));
    fake.write(record(12345, Bytes(64)));
    Ring ring = ring_of(fake);
    CHECK(times_of(ring) == std::vector<std::uint64_t>{60, 70});
    ring.release();
    CHECK(fake.head().data_tail == fake.head().data_head);
}

TEST_CASE("All records of a ring are taken unchanged, whatever their type") {
    const std::uint64_t before =
        GENERATE(range(std::uint64_t{0}, std::uint64_t{160}, std::uint64_t{8}));
    const FakeRing fake(FakeRing::page, FakeRing::page - before);
    Ring ring = ring_of(fake);
    Bytes written;
    for (const Bytes& one : {numbered(60), other(PERF_RECORD_THROTTLE, {7, 50, 3}, {1, 2, 3}),
                             numbered(70), lost_samples({7, 65, 3}, 4)}) {
        REQUIRE(fake.write(one));
        written.insert(written.end(), one.begin(), one.end());
    }
    std::vector<metagroup::Records> pieces;
    ring.take_all(pieces);
    CHECK(pieces.size() <= 3);
    Bytes taken;
    for (const auto& piece : pieces)
        piece.for_each([&](std::uint32_t, std::span<const std::byte> whole) {
            taken.insert(taken.end(), whole.begin(), whole.end());
        });
    CHECK(taken == written);
    CHECK(fake.head().data_tail != fake.head().data_head);
    ring.release();
    CHECK(fake.head().data_tail == fake.head().data_head);
    CHECK(ring.newest_time() == 70);
    pieces.clear();
    ring.take_all(pieces);
    CHECK(pieces.empty());
    CHECK(ring.newest_time() == 70);
}

TEST_CASE("A record that is longer than what was written is not taken") {
    const FakeRing fake;
    fake.write(numbered(60));
    Bytes longer = numbered(70);
    longer[6] = std::byte{0xF8};  // the low byte of its size
    fake.write(longer);
    Ring ring = ring_of(fake);
    std::vector<metagroup::Records> pieces;
    CHECK_THROWS_AS(ring.take_all(pieces), metagroup::Error);
}

TEST_CASE("A record is contiguous wherever the end of the ring divides it") {
    const std::uint64_t before =
        GENERATE(range(std::uint64_t{0}, std::uint64_t{72}, std::uint64_t{8}));
    const FakeRing fake(FakeRing::page, FakeRing::page - before);
    Ring ring = ring_of(fake);
    const Bytes counts = payload(group_format, {{11}, {22}, {33}, {44}});
    REQUIRE(fake.write(sample({7, 1, 3}, counts)));
    REQUIRE(fake.write(sample({7, 2, 3}, counts)));
    ring.update();
    REQUIRE(ring.front() != nullptr);
    const RingRecord first = *ring.front();
    ring.pop();
    REQUIRE(ring.front() != nullptr);
    CHECK(std::ranges::equal(first.payload, counts));
    CHECK(std::ranges::equal(ring.front()->payload, counts));
    CHECK(first.id == 7);
    CHECK(ring.front()->time == 2);
}

TEST_CASE("A large record is also contiguous at the end of the ring") {
    const FakeRing fake(2 * FakeRing::page, 2 * FakeRing::page - 3000);
    Ring ring = ring_of(fake);
    REQUIRE(fake.write(numbered(1, 800)));
    ring.update();
    REQUIRE(ring.front() != nullptr);
    const auto parsed = metagroup::Payload::parse(ring.front()->payload, group_format);
    REQUIRE(parsed);
    CHECK(parsed->nr() == 800);
    CHECK(parsed->value(799) == 1);
}

TEST_CASE("Records keep their space until it is released") {
    const FakeRing fake;
    Ring ring = ring_of(fake);
    std::uint64_t number = 0;
    while (fake.write(numbered(++number))) {
    }
    CHECK(times_of(ring).size() == number - 1);
    CHECK_FALSE(fake.write(numbered(number)));
    ring.release();
    CHECK(fake.write(numbered(number)));
    CHECK(times_of(ring) == std::vector{number});
}

TEST_CASE("A record that was not removed is not released") {
    const FakeRing fake;
    fake.write(numbered(1));
    fake.write(numbered(2));
    Ring ring = ring_of(fake);
    ring.update();
    ring.pop();
    ring.release();
    CHECK(fake.head().data_tail == numbered(1).size());
    CHECK(times_of(ring) == std::vector<std::uint64_t>{2});
}

TEST_CASE("A ring is half full if records that were not removed fill half of it") {
    const FakeRing fake;
    Ring ring = ring_of(fake);
    while (fake.head().data_head < FakeRing::page / 2) {
        ring.update();
        CHECK_FALSE(ring.half_full());
        fake.write(numbered(1));
    }
    ring.update();
    CHECK(ring.half_full());
    ring.pop();
    CHECK_FALSE(ring.half_full());
}

TEST_CASE("The newest time is that of the last sample, removed or not") {
    const FakeRing fake;
    Ring ring = ring_of(fake);
    ring.update();
    CHECK(ring.newest_time() == 0);
    fake.write(numbered(1));
    fake.write(numbered(2));
    ring.update();
    CHECK(ring.newest_time() == 2);
    REQUIRE(ring.front() != nullptr);
    CHECK(ring.front()->time == 1);
    CHECK(times_of(ring).size() == 2);
    CHECK(ring.newest_time() == 2);
}

TEST_CASE("Reading a ring repeatedly does not allocate") {
    const FakeRing fake;
    Ring ring = ring_of(fake);
    const Bytes bytes = numbered(1, 5);
    const AllocationCounter allocations;
    std::size_t read = 0;
    for (int round = 0; round < 1000; ++round) {
        fake.write(bytes);
        for (ring.update(); ring.front() != nullptr; ring.pop())
            ++read;
        ring.release();
    }
    CHECK(allocations.count() == 0);
    CHECK(read == 1000);
}

TEST_CASE("A record with an invalid size is refused") {
    CHECK_THAT(ring_refusal(header_of(PERF_RECORD_SAMPLE, 0)), ContainsSubstring("has 0 bytes"));
    CHECK_THAT(ring_refusal(header_of(PERF_RECORD_SAMPLE, 4)), ContainsSubstring("has 4 bytes"));
    CHECK_THAT(ring_refusal(header_of(PERF_RECORD_SAMPLE, 44)), ContainsSubstring("has 44 bytes"));
    CHECK_THAT(ring_refusal(header_of(PERF_RECORD_SAMPLE, 72)),
               ContainsSubstring("has 72 bytes, but only 64 were written"));
    CHECK_THAT(ring_refusal(header_of(PERF_RECORD_SAMPLE, 24)), ContainsSubstring("only 24 bytes"));
    CHECK_THAT(ring_refusal(header_of(PERF_RECORD_LOST_SAMPLES, 32)),
               ContainsSubstring("only 32 bytes"));
    CHECK_THAT(ring_refusal(header_of(PERF_RECORD_LOST, 40)), ContainsSubstring("only 40 bytes"));
    CHECK_THAT(ring_refusal(header_of(12345, 65528)), ContainsSubstring("has 65528 bytes"));
}

TEST_CASE("An impossible data_head is refused") {
    CHECK_THAT(ring_refusal(numbered(1), FakeRing::page + 8),
               ContainsSubstring("data_head is 4104"));
    CHECK_THAT(ring_refusal(numbered(1), 4), ContainsSubstring("data_head is 4"));
    CHECK_THAT(ring_refusal(numbered(1), UINT64_MAX - 7), ContainsSubstring("data_head"));
    const FakeRing fake;
    fake.write(numbered(1));
    fake.write(numbered(2));
    Ring ring = ring_of(fake);
    ring.update();
    fake.head().data_head = 8;
    CHECK(error_from([&] { ring.update(); }).cause() == Cause::bad_ring);
}

TEST_CASE("Memory that is not a ring is refused") {
    const auto refused = [](std::uint64_t offset, std::uint64_t size) {
        const FakeRing fake;
        fake.head().data_offset = offset;
        fake.head().data_size = size;
        const auto error = error_from([&] { ring_of(fake); });
        CHECK(error.cause() == Cause::bad_ring);
        CHECK_THAT(error.reason(), ContainsSubstring("its data has"));
    };
    refused(0, 4096);
    refused(4096, 0);
    refused(4096, 8192);
    refused(4096, 4000);
    refused(8192, 4096);
    refused(UINT64_MAX, 4096);
    refused(4096, std::uint64_t{1} << 63U);
    const auto error = error_from([] { Ring(-1, 0, 8192, Ring::Order::forward, "it"); });
    CHECK(error.operation() == "cannot map it");
    CHECK(error.code().value() == EBADF);
}

TEST_CASE("A backward ring returns the newest records, oldest first") {
    const std::uint64_t count = GENERATE(0U, 1U, 5U, 85U, 86U, 1000U);
    const FakeRing fake;
    for (std::uint64_t number = 1; number <= count; ++number)
        fake.write_backward(numbered(number));
    Ring ring = ring_of(fake, Ring::Order::backward);
    const auto found = times_of(ring);
    const std::size_t fitting = FakeRing::page / numbered(1).size();
    REQUIRE(found.size() == std::min<std::size_t>(count, fitting));
    for (std::size_t i = 0; i < found.size(); ++i)
        CHECK(found[i] == count - found.size() + 1 + i);
    ring.release();
    CHECK(fake.head().data_tail == 0);
    CHECK(times_of(ring).empty());
}

TEST_CASE("A backward record is contiguous at the end of the ring") {
    const std::size_t events = GENERATE(1U, 2U, 3U, 4U, 5U, 6U, 7U, 100U);
    const FakeRing fake;
    for (std::uint64_t number = 1; number <= 300; ++number)
        fake.write_backward(numbered(number, events));
    Ring ring = ring_of(fake, Ring::Order::backward);
    std::uint64_t last = 0;
    for (ring.update(); ring.front() != nullptr; ring.pop()) {
        const auto parsed = metagroup::Payload::parse(ring.front()->payload, group_format);
        REQUIRE(parsed);
        CHECK(parsed->nr() == events);
        CHECK(parsed->value(events - 1) == ring.front()->time);
        last = ring.front()->time;
    }
    CHECK(last == 300);
}

TEST_CASE("A bad record in a backward ring is refused") {
    const FakeRing fake;
    fake.write_backward(numbered(1));
    fake.write_backward(header_of(PERF_RECORD_SAMPLE, 4));
    Ring ring = ring_of(fake, Ring::Order::backward);
    CHECK(error_from([&] { ring.update(); }).cause() == Cause::bad_ring);
}
