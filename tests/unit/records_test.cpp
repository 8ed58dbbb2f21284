// SPDX-License-Identifier: MIT
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <metagroup/records.hpp>
#include <vector>

#include "support/synthetic_stream.hpp"

using metagroup::Records;
using metagroup::test::Bytes;
using metagroup::test::SyntheticStream;

namespace {

// Two samples, and a loss after each.
Bytes two_samples() {
    Bytes bytes;
    for (const std::uint64_t deadline : {10, 20}) {
        SyntheticStream::sample(bytes, 0, deadline);
        SyntheticStream::lost(bytes, 0, deadline + 5, 1);
    }
    return bytes;
}

}  // namespace

TEST_CASE("Records have the times of their first and last sample") {
    const Bytes bytes = two_samples();
    const Records records(bytes);
    CHECK(records.bytes().size() == bytes.size());
    CHECK(records.first_ns() == SyntheticStream::time(0, 10));
    CHECK(records.last_ns() == SyntheticStream::time(0, 20));
    std::vector<std::uint32_t> types;
    records.for_each([&](std::uint32_t type, auto) { types.push_back(type); });
    CHECK(types == std::vector<std::uint32_t>{PERF_RECORD_SAMPLE, PERF_RECORD_LOST_SAMPLES,
                                              PERF_RECORD_SAMPLE, PERF_RECORD_LOST_SAMPLES});
}

TEST_CASE("Records end before the first incomplete one") {
    Bytes bytes = two_samples();
    const std::size_t half = bytes.size() / 2;
    SECTION("because the bytes end") {
        bytes.resize(half + 40);
    }
    SECTION("because the bytes end within its header") {
        bytes.resize(half + 4);
    }
    SECTION("because its size is less than that of its header") {
        bytes[half + 6] = std::byte{0};
    }
    SECTION("because its size is not a multiple of 8") {
        bytes[half + 6] |= std::byte{4};
    }
    const Records records(bytes);
    CHECK(records.bytes().size() == half);
    CHECK(records.last_ns() == SyntheticStream::time(0, 10));
}

TEST_CASE("A sample that ends before its time is a record without a time") {
    const Bytes samples = two_samples();
    const perf_event_header header{.type = PERF_RECORD_SAMPLE, .misc = 0, .size = 16};
    Bytes bytes(header.size);
    std::memcpy(bytes.data(), &header, sizeof(header));
    const Bytes shortest = bytes;
    bytes.insert(bytes.end(), samples.begin(), samples.end());
    bytes.insert(bytes.end(), shortest.begin(), shortest.end());
    const Records records(bytes);
    CHECK(records.bytes().size() == bytes.size());
    CHECK(records.first_ns() == SyntheticStream::time(0, 10));
    CHECK(records.last_ns() == SyntheticStream::time(0, 20));
}

TEST_CASE("Records without a sample have no times") {
    Bytes bytes;
    SyntheticStream::lost(bytes, 0, 1, 1);
    CHECK(Records(bytes).bytes().size() == bytes.size());
    CHECK(Records(bytes).first_ns() == 0);
    CHECK(Records(bytes).last_ns() == 0);
    CHECK(Records().bytes().empty());
}
