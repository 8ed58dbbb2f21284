// SPDX-License-Identifier: MIT
#include "deadlines.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "fake_ring.hpp"
#include "helpers.hpp"
#include "support/allocation_counter.hpp"
#include "support/instruction_counter.hpp"

using Catch::Matchers::ContainsSubstring;
using metagroup::Cause;
using metagroup::Deadline;
using metagroup::detail::DeadlineReader;
using metagroup::detail::Ring;
using metagroup::detail::Sampler;
using namespace metagroup::test;

namespace {

constexpr std::uint64_t period = 100;
constexpr std::uint64_t all = UINT64_MAX;

// Rings of CPUs 0, 1..., each with a member whose identifier is 10 more than the CPU.
class FakeSampler final : public Sampler {
  public:
    explicit FakeSampler(std::size_t cpus, Ring::Order order = Ring::Order::forward,
                         std::size_t ring_size = FakeRing::page) {
        for (std::size_t cpu = 0; cpu < cpus; ++cpu) {
            fakes.emplace_back(ring_size);
            rings.emplace_back(fakes[cpu].fd(), 0, fakes[cpu].bytes(), order,
                               "ring " + std::to_string(cpu));
            sources.push_back({10 + cpu, cpu, metagroup::ReadFormat::group});
        }
        common = true;
    }
    std::uint64_t stop() override { return 0; }

    static Bytes counts(std::uint32_t cpu, std::uint64_t time) {
        return sample({10 + cpu, time, cpu},
                      payload(metagroup::ReadFormat::group, {{time}, {2 * time}}));
    }
    bool write(std::uint32_t cpu, std::uint64_t time) const {
        return fakes[cpu].write(counts(cpu, time));
    }
    bool lose(std::uint32_t cpu, std::uint64_t time, std::uint64_t lost) const {
        return fakes[cpu].write(lost_samples({10 + cpu, time, cpu}, lost));
    }

    std::vector<FakeRing> fakes;
};

// `100: 0@105 1@110; 200: ...`, a loss as `0-3@305`.
std::string text(std::span<const Deadline> deadlines) {
    std::string all_of_them;
    for (const Deadline& deadline : deadlines) {
        if (!all_of_them.empty()) all_of_them += "; ";
        all_of_them += std::to_string(deadline.time_ns()) + ":";
        for (const metagroup::Sample& one : deadline) {
            all_of_them += " " + std::to_string(one.cpu());
            if (one.lost() > 0) all_of_them += "-" + std::to_string(one.lost());
            all_of_them += "@" + std::to_string(one.time_ns());
        }
    }
    return all_of_them;
}

}  // namespace

TEST_CASE("Deadlines come in order, each with the samples of all CPUs") {
    FakeSampler sampler(2);
    DeadlineReader reader(sampler, period);
    CHECK(reader.read(0).empty());
    sampler.write(1, 110);
    sampler.write(1, 210);
    sampler.write(1, 310);
    sampler.write(0, 105);
    sampler.write(0, 299);
    const auto deadlines = reader.read(0);
    CHECK(text(deadlines) == "100: 0@105 1@110; 200: 0@299 1@210");
    REQUIRE(deadlines.size() == 2);
    CHECK(deadlines[0].size() == 2);
    const metagroup::Sample& one = deadlines[1].samples()[0];
    CHECK(one.index() == 0);
    CHECK(one.nr() == 2);
    CHECK(one.raw(0) == 299);
    CHECK(one.raw(1) == 598);
    CHECK_FALSE(one.raw(2));
    CHECK_FALSE(one.time_enabled());
    CHECK(one.payload_bytes().size() == 24);
    sampler.write(0, 300);
    CHECK(text(reader.read(0)) == "300: 0@300 1@310");
}

TEST_CASE("A deadline is held back until every CPU has reached it or it has expired") {
    FakeSampler sampler(3);
    DeadlineReader reader(sampler, period);
    sampler.write(0, 105);
    sampler.write(1, 105);
    CHECK_FALSE(reader.holds_back());
    CHECK(reader.read(99).empty());
    CHECK(reader.holds_back());
    sampler.write(2, 205);
    CHECK(text(reader.read(99)) == "100: 0@105 1@105");
    CHECK(reader.read(199).empty());
    CHECK(text(reader.read(200)) == "200: 2@205");
    sampler.write(0, 305);
    CHECK(reader.read(299).empty());
    CHECK(text(reader.read(all)) == "300: 0@305");
    CHECK(reader.read(all).empty());
    CHECK_FALSE(reader.holds_back());
}

TEST_CASE("A half-full ring releases an incomplete deadline") {
    FakeSampler sampler(2);
    DeadlineReader reader(sampler, period);
    std::uint64_t time = 0;
    while (sampler.fakes[0].head().data_head < FakeRing::page / 2) {
        CHECK(reader.read(0).empty());
        sampler.write(0, time += period);
    }
    CHECK(text(reader.read(0)) == "100: 0@100");
    CHECK(reader.read(0).empty());
}

TEST_CASE("Losses belong to the deadline at which they were detected") {
    FakeSampler sampler(2);
    DeadlineReader reader(sampler, period);
    sampler.write(0, 105);
    sampler.write(1, 105);
    sampler.lose(0, 405, 2);
    sampler.write(0, 405);
    sampler.lose(1, 205, 1);
    sampler.write(1, 405);
    const auto deadlines = reader.read(0);
    CHECK(text(deadlines) == "100: 0@105 1@105; 200: 1-1@205; 400: 0-2@405 0@405 1@405");
    REQUIRE(deadlines.size() == 3);
    const metagroup::Sample& loss = deadlines[1].samples()[0];
    CHECK(loss.index() == 1);
    CHECK(loss.nr() == 0);
    CHECK_FALSE(loss.raw(0));
    CHECK(loss.payload_bytes().empty());
}

TEST_CASE("A sample that is too late belongs to the next deadline") {
    FakeSampler sampler(2);
    DeadlineReader reader(sampler, period);
    sampler.write(0, 105);
    sampler.write(0, 205);
    CHECK(text(reader.read(200)) == "100: 0@105; 200: 0@205");
    sampler.write(1, 105);
    sampler.write(1, 205);
    sampler.write(1, 305);
    sampler.write(0, 305);
    CHECK(text(reader.read(0)) == "300: 0@305 1@105 1@205 1@305");
}

TEST_CASE("Rings with separate timers have a common order of deadlines") {
    FakeSampler sampler(2);
    sampler.common = false;
    sampler.first = 1000;
    DeadlineReader reader(sampler, period);
    // CPU 0 is early and CPU 1 late in the period; both vary.
    sampler.write(0, 1002);
    sampler.write(1, 1097);
    sampler.write(0, 1099);
    sampler.write(1, 1203);
    sampler.write(0, 1203);
    sampler.write(1, 1296);
    CHECK(text(reader.read(0)) == "1000: 0@1002 1@1097; 1100: 0@1099 1@1203; 1200: 0@1203 1@1296");
}

TEST_CASE("With a separate timer, all deadlines without a sample are lost") {
    FakeSampler sampler(1);
    sampler.common = false;
    sampler.first = 800;
    DeadlineReader reader(sampler, period);
    sampler.write(0, 1002);
    sampler.write(0, 1190);
    sampler.write(0, 1201);
    // The kernel reports a part of them.
    sampler.lose(0, 1501, 1);
    sampler.write(0, 1501);
    CHECK(text(reader.read(0)) ==
          "1000: 0-2@1002 0@1002; 1100: 0@1190; 1200: 0@1201; 1500: 0-2@1501 0@1501");
}

TEST_CASE("A timer whose first sample is late has as many deadlines as periods") {
    FakeSampler sampler(1);
    sampler.common = false;
    sampler.first = 1000;
    DeadlineReader reader(sampler, period);
    // The timer expires at multiples of 100. Some samples are late by nearly a period.
    for (const std::uint64_t time : {1090U, 1100U, 1295U, 1301U, 1460U, 1500U})
        sampler.write(0, time);
    std::uint64_t counted = 0;
    for (const Deadline& deadline : reader.read(0)) {
        for (const metagroup::Sample& one : deadline)
            counted += std::max<std::uint64_t>(one.lost(), 1);
    }
    CHECK(counted == 6);
}

TEST_CASE("Values before those of the group are hidden") {
    FakeSampler sampler(1);
    sampler.hidden = 1;
    DeadlineReader reader(sampler, period);
    sampler.write(0, 105);
    const auto deadlines = reader.read(0);
    REQUIRE(deadlines.size() == 1);
    const metagroup::Sample& one = deadlines[0].samples()[0];
    CHECK(one.nr() == 1);
    CHECK(one.raw(0) == 210);
    CHECK_FALSE(one.raw(1));
}

TEST_CASE("Deadlines that were not taken are left for the next read") {
    FakeSampler sampler(8);
    DeadlineReader reader(sampler, period);
    std::size_t written = 0;
    for (std::uint64_t time = period; sampler.write(0, time); time += period) {
        for (std::uint32_t cpu = 1; cpu < 8; ++cpu)
            sampler.write(cpu, time);
        written += 8;
    }
    REQUIRE(written > 512);
    std::size_t read = 0;
    std::uint64_t last = 0;
    const auto take = [&] {
        for (const Deadline& deadline : reader.read(0)) {
            CHECK(deadline.time_ns() == last + period);
            CHECK(deadline.size() == 8);
            last = deadline.time_ns();
            read += deadline.size();
        }
    };
    take();
    CHECK(reader.has_more());
    CHECK(read == 512);
    take();
    CHECK_FALSE(reader.has_more());
    CHECK(read == written);
}

TEST_CASE("The next read or release() frees the space in the rings") {
    FakeSampler sampler(1);
    DeadlineReader reader(sampler, period);
    sampler.write(0, 100);
    CHECK(reader.read(0).size() == 1);
    CHECK(sampler.fakes[0].head().data_tail == 0);
    reader.release();
    CHECK(sampler.fakes[0].head().data_tail == sampler.fakes[0].head().data_head);
    sampler.write(0, 200);
    CHECK(reader.read(0).size() == 1);
    CHECK(sampler.fakes[0].head().data_tail < sampler.fakes[0].head().data_head);
    CHECK(reader.read(0).empty());
    CHECK(sampler.fakes[0].head().data_tail == sampler.fakes[0].head().data_head);
}

TEST_CASE("Samples that were written backward are also in order") {
    FakeSampler sampler(2, Ring::Order::backward);
    DeadlineReader reader(sampler, period);
    for (const std::uint64_t time : {105U, 205U, 305U}) {
        sampler.fakes[0].write_backward(FakeSampler::counts(0, time));
        sampler.fakes[1].write_backward(FakeSampler::counts(1, time + 1));
    }
    CHECK(text(reader.read(all)) == "100: 0@105 1@106; 200: 0@205 1@206; 300: 0@305 1@306");
}

TEST_CASE("Deadlines are read without allocating") {
    FakeSampler sampler(4);
    DeadlineReader reader(sampler, period);
    std::vector<Bytes> bytes;
    std::size_t read = 0;
    for (std::uint64_t round = 1; round <= 1000; ++round) {
        bytes.clear();
        for (std::uint32_t cpu = 0; cpu < 4; ++cpu)
            bytes.push_back(FakeSampler::counts(cpu, round * period));
        const AllocationCounter allocations;
        for (std::size_t cpu = 0; cpu < 4; ++cpu)
            sampler.fakes[cpu].write(bytes[cpu]);
        for (const Deadline& deadline : reader.read(0))
            read += deadline.size();
        REQUIRE(allocations.count() == 0);
    }
    CHECK(read == 4000);
}

TEST_CASE("A sample takes few instructions", "[instructions]") {
    constexpr std::uint32_t cpus = 8;
    FakeSampler sampler(cpus, Ring::Order::forward, 2 * FakeRing::page);
    DeadlineReader reader(sampler, period);
    for (std::uint64_t round = 1; round <= 128; ++round) {
        for (std::uint32_t cpu = 0; cpu < cpus; ++cpu)
            REQUIRE(sampler.write(cpu, round * period));
    }
    // Half of them at each call.
    const auto instructions = count_instructions([&] {
        std::uint64_t samples = 0;
        std::uint64_t sum = 0;
        for (const Deadline& deadline : reader.read(0)) {
            for (const metagroup::Sample& one : deadline) {
                sum += one.lost() + *one.raw(0);
                ++samples;
            }
        }
        if (samples != 64 * cpus || sum == 0) throw std::logic_error("not half of them");
    });
    if (!instructions) SKIP("not optimized, or processes may not be traced here");
    CHECK(*instructions / (64 * cpus) < 220);
}

TEST_CASE("A sample of no member, and a sample with an invalid payload, are refused") {
    FakeSampler unknown(1);
    DeadlineReader first(unknown, period);
    unknown.fakes[0].write(sample({77, 100, 0}, payload(metagroup::ReadFormat::group, {{1}})));
    const auto error = error_from([&] { static_cast<void>(first.read(0)); });
    CHECK(error.cause() == Cause::bad_ring);
    CHECK_THAT(error.what(), ContainsSubstring("no member has the identifier 77"));

    FakeSampler cut(1);
    DeadlineReader second(cut, period);
    cut.fakes[0].write(sample({10, 100, 0}, Bytes(8)));
    CHECK_THAT(error_from([&] { static_cast<void>(second.read(0)); }).what(),
               ContainsSubstring("its 8 bytes are not a payload of read format 0x8"));
}

TEST_CASE("A payload is checked even if it has the size of the previous one") {
    FakeSampler sampler(1);
    DeadlineReader reader(sampler, period);
    sampler.write(0, 100);
    CHECK(text(reader.read(0)) == "100: 0@100");
    Bytes counts = FakeSampler::counts(0, 200);
    counts.at(metagroup::detail::sample_head) = std::byte{1};  // event; there are two
    sampler.fakes[0].write(counts);
    CHECK(error_from([&] { static_cast<void>(reader.read(0)); }).cause() == Cause::bad_ring);
}

TEST_CASE("A payload with fewer values than must be hidden is refused each time") {
    FakeSampler sampler(1);
    sampler.hidden = 3;
    DeadlineReader reader(sampler, period);
    sampler.write(0, 100);
    for (int i = 0; i < 2; ++i)
        CHECK(error_from([&] { static_cast<void>(reader.read(0)); }).cause() == Cause::bad_ring);
}

TEST_CASE("Deadlines continue after a record that was refused") {
    FakeSampler sampler(1);
    DeadlineReader reader(sampler, period);
    sampler.write(0, 100);
    sampler.fakes[0].write(record(PERF_RECORD_LOST_SAMPLES, Bytes(8)));
    sampler.write(0, 200);
    CHECK(error_from([&] { static_cast<void>(reader.read(0)); }).cause() == Cause::bad_ring);
    CHECK(text(reader.read(0)) == "200: 0@200");
}

TEST_CASE("Samples that were held back can be taken as records") {
    FakeSampler sampler(2);
    DeadlineReader reader(sampler, period);
    sampler.write(0, 100);
    CHECK(reader.read(0).empty());
    std::vector<metagroup::Records> pieces;
    reader.take_all(pieces);
    REQUIRE(pieces.size() == 1);
    CHECK(std::ranges::equal(pieces[0].bytes(), FakeSampler::counts(0, 100)));
    sampler.write(0, 200);
    sampler.write(1, 200);
    CHECK(text(reader.read(0)) == "200: 0@200 1@200");
}

TEST_CASE("Invalid times do no harm") {
    FakeSampler sampler(2);
    DeadlineReader reader(sampler, period);
    sampler.write(0, UINT64_MAX);
    sampler.write(1, 0);
    sampler.write(0, 5);
    sampler.write(1, UINT64_MAX - 50);
    std::size_t read = 0;
    for (int round = 0; round < 3; ++round) {
        for (const Deadline& deadline : reader.read(all))
            read += deadline.size();
    }
    CHECK(read == 4);
}
