// SPDX-License-Identifier: MIT
#include "metagroup/payload.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cstring>
#include <random>
#include <stdexcept>

#include "support/frame_builder.hpp"

using metagroup::Payload;
using metagroup::payload_size;
using metagroup::ReadFormat;
using namespace metagroup::test;

namespace {

constexpr std::uint64_t formats = 32;
constexpr std::size_t most_events = 8;

std::vector<Event> some_events(std::size_t count) {
    std::vector<Event> events;
    for (std::uint64_t i = 0; i < count; ++i)
        events.push_back({100 + i, 200 + i, 300 + i});
    return events;
}

}  // namespace

TEST_CASE("every read format decodes to what was put in") {
    const auto format = GENERATE(range(std::uint64_t{0}, formats));
    const auto count = GENERATE(range(std::size_t{1}, most_events + 1));
    CAPTURE(format, count);
    const Bytes bytes = payload(format, some_events(count), 5000, 4000);
    REQUIRE(bytes.size() == payload_size(format, count));
    const auto decoded = Payload::parse(bytes, format);
    REQUIRE(decoded);
    const bool group = (format & ReadFormat::group) != 0;
    REQUIRE(decoded->nr() == (group ? count : 1));
    CHECK(decoded->time_enabled() == ((format & ReadFormat::total_time_enabled) != 0
                                          ? std::optional<std::uint64_t>(5000)
                                          : std::nullopt));
    CHECK(decoded->time_running() == ((format & ReadFormat::total_time_running) != 0
                                          ? std::optional<std::uint64_t>(4000)
                                          : std::nullopt));
    for (std::size_t i = 0; i < decoded->nr(); ++i) {
        CHECK(decoded->value(i) == 100 + i);
        CHECK(decoded->id(i) == ((format & ReadFormat::id) != 0
                                     ? std::optional<std::uint64_t>(200 + i)
                                     : std::nullopt));
        CHECK(decoded->lost(i) == ((format & ReadFormat::lost) != 0
                                       ? std::optional<std::uint64_t>(300 + i)
                                       : std::nullopt));
    }
    CHECK_THROWS_AS(decoded->value(decoded->nr()), std::out_of_range);
    CHECK_THROWS_AS(decoded->id(decoded->nr()), std::out_of_range);
    CHECK_THROWS_AS(decoded->lost(decoded->nr()), std::out_of_range);
}

TEST_CASE("a payload of another length is refused in every read format") {
    const auto format = GENERATE(range(std::uint64_t{0}, formats));
    CAPTURE(format);
    const Bytes whole = payload(format, some_events(3), 1, 1);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        // A block of exactly that size, so that a sanitizer sees the first byte beyond it.
        const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        CHECK_FALSE(Payload::parse(cut, format));
    }
    Bytes longer = whole;
    longer.push_back(std::byte{0});
    CHECK_FALSE(Payload::parse(longer, format));
    longer.resize(whole.size() + sizeof(std::uint64_t));
    CHECK_FALSE(Payload::parse(longer, format));
}

TEST_CASE("a number of events that the bytes cannot hold is refused") {
    const auto nr = GENERATE(std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{3},
                             std::uint64_t{1} << 61, std::uint64_t{1} << 63, UINT64_MAX);
    Bytes bytes = payload(ReadFormat::group, some_events(2));
    std::memcpy(bytes.data(), &nr, sizeof(nr));
    CHECK_FALSE(Payload::parse(bytes, ReadFormat::group));
}

TEST_CASE("a payload without events is refused") {
    CHECK_FALSE(Payload::parse(payload(ReadFormat::group, {}), ReadFormat::group));
}

TEST_CASE("a read format with unknown bits is refused") {
    const Bytes bytes = payload(0, some_events(1));
    CHECK_FALSE(Payload::parse(bytes, 1U << 5));
    CHECK_FALSE(Payload::parse(bytes, std::uint64_t{1} << 63));
}

TEST_CASE("a payload needs no alignment") {
    Bytes bytes = payload(ReadFormat::all, some_events(4), 5, 6);
    bytes.insert(bytes.begin(), std::byte{1});
    const auto decoded = Payload::parse(std::span(bytes).subspan(1), ReadFormat::all);
    REQUIRE(decoded);
    CHECK(decoded->value(3) == 103);
    CHECK(decoded->lost(3) == 303);
}

TEST_CASE("random bytes are refused or decoded, never read beyond") {
    std::mt19937_64 random(20240229);  // NOLINT: the same numbers in every run
    for (int round = 0; round < 20000; ++round) {
        Bytes bytes(random() % 100);
        for (std::byte& byte : bytes)
            byte = static_cast<std::byte>(random() % 4);
        // Small numbers of events often, or nearly nothing would be decoded.
        if (bytes.size() >= sizeof(std::uint64_t)) {
            const std::uint64_t nr = random() % 12;
            std::memcpy(bytes.data(), &nr, sizeof(nr));
        }
        const std::uint64_t format = random() % 40;
        const auto decoded = Payload::parse(bytes, format);
        if (!decoded) continue;
        std::uint64_t sum =
            decoded->time_enabled().value_or(0) + decoded->time_running().value_or(0);
        for (std::size_t i = 0; i < decoded->nr(); ++i) {
            sum += decoded->value(i) + decoded->id(i).value_or(0) + decoded->lost(i).value_or(0);
        }
        CHECK(bytes.size() == payload_size(format, decoded->nr()));
        static_cast<void>(sum);
    }
}
