// SPDX-License-Identifier: MIT
#include <array>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <metagroup/accumulator.hpp>
#include <optional>
#include <vector>

#include "count_layouts.hpp"
#include "support/allocation_counter.hpp"
#include "support/frame_builder.hpp"

using metagroup::Accumulator;
using metagroup::AggrMode;
using metagroup::Counts;
using metagroup::Difference;
using metagroup::Reading;
using metagroup::Status;
using metagroup::test::Frame;
using metagroup::test::kSecond;
using metagroup::test::layout_of;

namespace {

// One member whose events count 1 and 2.
class One {
  public:
    std::optional<Difference> read(std::uint64_t time, std::uint64_t enabled, std::uint64_t running,
                                   std::uint64_t count, Status status = Status::ok) {
        counts_ = {count, 2 * count};
        const auto difference = accumulator_.add(0, {.time = time,
                                                     .enabled = enabled,
                                                     .running = running,
                                                     .status = status,
                                                     .counts = counts_});
        if (difference) counts.add(0, *difference);
        return difference;
    }
    const metagroup::Count& sum() {
        counts.add_up();
        return counts.at(0, 0);
    }

    Counts counts{layout_of(1)};

  private:
    Accumulator accumulator_{1};
    std::array<std::uint64_t, 2> counts_{};
};

// Of a CPU; without a payload if it could not be read.
Frame frame(std::uint32_t cpu, std::uint64_t time, std::optional<std::uint64_t> count,
            std::uint32_t status = PERF_METAGROUP_OK) {
    Frame frame{.member = cpu, .cpu = cpu, .time = time, .payload = {}};
    frame.read_format = metagroup::test::timed;
    frame.status = status;
    if (count)
        frame.payload =
            metagroup::test::payload(frame.read_format, {{*count}, {2 * *count}}, time, time);
    return frame;
}

metagroup::Snapshot snapshot(const std::vector<Frame>& frames, std::uint64_t begin = 0) {
    return metagroup::test::snapshot(metagroup::test::framed(frames, begin, begin));
}

}  // namespace

TEST_CASE("The first reading counts nothing") {
    One one;
    CHECK_FALSE(one.read(100, 100, 100, 42));
    CHECK_FALSE(one.sum().known());
}

TEST_CASE("Counts beyond the precision of a double stay exact") {
    One one;
    one.read(100, 100, 100, 0);
    one.read(200, 200, 200, (std::uint64_t{1} << 60U) + 1);
    CHECK(one.sum().exact());
    CHECK(one.sum().count == (std::uint64_t{1} << 60U) + 1);
}

TEST_CASE("A sum beyond 64 bits does not wrap") {
    One one;
    one.read(100, 100, 100, 0);
    for (std::uint64_t i = 1; i <= 3; ++i)
        one.read(100 + i, 100 + i, 100 + i, i * (UINT64_MAX / 2 - 1));
    CHECK(one.sum().value() > 1.4 * 0x1p64);
}

TEST_CASE(
    "An event that was not on the PMU adds nothing, and its next count is scaled to that time") {
    One one;
    one.read(100, 100, 100, 0);
    one.read(200, 200, 100, 0);
    CHECK_FALSE(one.sum().known());
    CHECK(one.sum().enabled == 100);
    one.read(300, 300, 200, 100);
    CHECK(one.sum().value() == 200);
    CHECK(one.sum().count == 100);
    CHECK(one.sum().wall == 200);
    CHECK(one.sum().coverage() == 0.5);
}

TEST_CASE("A reset keeps earlier counts, and counting restarts") {
    One one;
    one.read(100, 100, 100, 1000);
    one.read(200, 200, 200, 5000);
    one.read(300, 300, 300, 1000);
    one.read(400, 400, 400, 20'000);
    CHECK(one.sum().count == 23'000);
    CHECK(one.sum().wall == 200);
}

TEST_CASE("A reading that is not newer changes nothing") {
    One one;
    one.read(200, 200, 200, 10);
    CHECK_FALSE(one.read(100, 100, 100, 5));
    CHECK_FALSE(one.read(200, 200, 200, 10));
    one.read(300, 300, 300, 30);
    CHECK(one.sum().count == 20);
}

TEST_CASE("If a time goes back, counting restarts") {
    const bool enabled = GENERATE(true, false);
    One one;
    one.read(100, 100, 100, 0);
    CHECK_FALSE(one.read(200, enabled ? 50 : 200, enabled ? 100 : 50, 1000));
    CHECK(one.read(300, 300, 300, 1100)->counts[0] == 100);
}

TEST_CASE("A disabled event is not counted, and later counts are not scaled to that time") {
    One one;
    one.read(100, 100, 100, 0);
    one.read(200, 100, 100, 0, Status::off);
    CHECK_FALSE(one.sum().known());
    one.read(300, 200, 200, 50);
    CHECK(one.sum().value() == 50);
    CHECK(one.sum().wall == 100);
}

TEST_CASE("The count of an idle CPU is known not to have changed") {
    One one;
    one.read(100, 100, 100, 10);
    one.read(200, 100, 100, 10, Status::idle);
    CHECK(one.sum().known());
    CHECK(one.sum().count == 0);
    CHECK(one.sum().wall == 100);
}

TEST_CASE("The count of a cgroup that did not run is known not to have changed") {
    Accumulator accumulator(1, true);
    Counts counts(layout_of(1));
    const std::array<std::uint64_t, 2> none{};
    accumulator.add(0, {.time = 100, .enabled = 10, .running = 10, .counts = none});
    const auto difference =
        accumulator.add(0, {.time = 300, .enabled = 10, .running = 10, .counts = none});
    REQUIRE(difference);
    counts.add(0, *difference);
    counts.add_up();
    CHECK(counts.at(0, 0).known());
    CHECK(counts.at(0, 0).wall == 200);
}

TEST_CASE(
    "If the time of a cgroup does not advance, the reason is known only if its CPU is offline") {
    Accumulator accumulator(1, true);
    const std::array<std::uint64_t, 2> none{};
    const auto read = [&](std::uint64_t time, std::uint64_t enabled, std::uint32_t generation,
                          Status status) {
        return accumulator.add(0, {.time = time,
                                   .enabled = enabled,
                                   .running = enabled,
                                   .status = status,
                                   .generation = generation,
                                   .counts = none});
    };
    read(100, 10, 0, Status::ok);
    CHECK(read(200, 10, 1, Status::ok)->offline == 0);
    CHECK(read(300, 50, 1, Status::offline)->offline == 0);
    const auto gone = read(400, 50, 1, Status::offline);
    CHECK(gone->offline == 100);
    CHECK(gone->counts.empty());
}

TEST_CASE("A CPU that was offline once is not treated as offline forever") {
    Accumulator accumulator(1);
    const std::array<std::uint64_t, 2> none{};
    const auto read = [&](std::uint64_t time, std::uint32_t generation) {
        return accumulator.add(0, {.time = time,
                                   .enabled = 100,
                                   .running = 100,
                                   .generation = generation,
                                   .counts = none});
    };
    read(100, 0);
    CHECK(read(200, 1)->offline == 100);
    CHECK(read(300, 1)->offline == 0);
}

TEST_CASE("The rate of a cgroup is per second of wall time, not of its own time") {
    Accumulator accumulator(1, true);
    Counts counts(layout_of(1, AggrMode::all, {{.event = "cpu-clock", .clock = true}}));
    for (std::uint64_t second = 1; second <= 3; ++second) {
        const std::array<std::uint64_t, 1> clock{second * kSecond / 10};
        const auto difference = accumulator.add(
            0,
            {.time = second * kSecond, .enabled = clock[0], .running = clock[0], .counts = clock});
        if (difference) counts.add(0, *difference);
    }
    counts.add_up();
    CHECK(counts.at(0, 0).count == 2 * kSecond / 10);
    CHECK(*counts.rate(counts.at(0, 0), 0) == kSecond / 10);
}

TEST_CASE("Counts of replaced events are not subtracted from earlier ones") {
    Accumulator accumulator(1);
    const std::array<std::uint64_t, 2> low{1, 1}, high{9, 9}, ids{1, 2}, others{3, 4};
    accumulator.add(0, {.time = 1, .enabled = 1, .running = 1, .counts = low, .ids = ids});
    CHECK_FALSE(
        accumulator.add(0, {.time = 2, .enabled = 2, .running = 2, .counts = high, .ids = others}));
}

TEST_CASE("A record without a payload loses nothing") {
    Counts counts(layout_of(2));
    Accumulator accumulator(2);
    const auto first = snapshot({frame(0, 100, 0), frame(1, 100, 0)});
    const auto broken =
        snapshot({frame(0, 200, 10), frame(1, 200, std::nullopt, PERF_METAGROUP_STALE)}, 200);
    const auto last = snapshot({frame(0, 300, 20), frame(1, 300, 20)}, 300);
    accumulator.add(counts, first);
    accumulator.add(counts, broken);
    counts.add_up();
    CHECK(counts.at(0, 0).counted == 1);
    CHECK(counts.at(0, 0).counters == 2);
    CHECK_FALSE(counts.at(0, 0).complete());
    accumulator.add(counts, last);
    counts.add_up();
    CHECK(counts.at(0, 0).count == 40);
    CHECK(counts.at(0, 0).complete());
}

TEST_CASE("Without times in the format, events are assumed to be on the PMU all the time") {
    Counts counts(layout_of(1));
    Accumulator accumulator(1);
    for (const std::uint64_t time : {100U, 200U}) {
        Frame plain{.time = time, .payload = {}};
        plain.payload = metagroup::test::payload(plain.read_format, {{time}, {time}});
        accumulator.add(counts, snapshot({plain}, time));
    }
    counts.add_up();
    CHECK(counts.at(0, 0).count == 100);
    CHECK(counts.at(0, 0).enabled == 100);
    CHECK(counts.at(0, 0).running == 100);
}

TEST_CASE("An older record of an idle or offline CPU covers the time until the sweep") {
    const auto status = GENERATE(PERF_METAGROUP_IDLE, PERF_METAGROUP_OFFLINE);
    const bool idle = status == PERF_METAGROUP_IDLE;
    Counts counts(layout_of(1));
    Accumulator accumulator(1);
    accumulator.add(counts, snapshot({frame(0, 100, 7)}));
    accumulator.add(counts, snapshot({frame(0, 100, 7, status)}, 400));
    counts.add_up();
    CHECK(counts.at(0, 0).known() == idle);
    CHECK(counts.at(0, 0).offline == (idle ? 0 : 300));
    CHECK(counts.counter(0, 0).wall == 300);
    // The CPU rests since after the sweep began.
    accumulator.add(counts, snapshot({frame(0, 450, 7, status)}, 420));
    CHECK(counts.counter(0, 0).wall == 350);
}

TEST_CASE("A record of another generation follows a time offline") {
    Counts counts(layout_of(1));
    Accumulator accumulator(1);
    for (const std::uint32_t generation : {0U, 1U}) {
        Frame of_set = frame(0, 100, 7);
        of_set.time = 100 + generation * 300;
        of_set.generation = generation;
        accumulator.add(counts, snapshot({of_set}, of_set.time));
    }
    CHECK(counts.counter(0, 0).offline == 300);
}

TEST_CASE("Counts are added to the lanes of the members") {
    Counts counts(layout_of(3));
    Accumulator accumulator(1);
    const std::array<std::size_t, 1> lanes{2};
    accumulator.add(counts, snapshot({frame(2, 100, 0)}), 0, lanes);
    accumulator.add(counts, snapshot({frame(2, 200, 9)}), 0, lanes);
    CHECK(counts.counter(2, 0).count == 9);
    CHECK_FALSE(counts.counter(0, 0).known());
}

TEST_CASE("After a restart, the next reading counts nothing") {
    Counts counts(layout_of(1));
    Accumulator accumulator(1);
    accumulator.add(counts, snapshot({frame(0, 100, 0)}));
    accumulator.restart(1);
    accumulator.add(counts, snapshot({frame(0, 200, 9)}));
    CHECK_FALSE(counts.counter(0, 0).known());
}

TEST_CASE("An interval also has its share of counts that waited for the PMU") {
    Counts counts(layout_of(1));
    Accumulator accumulator(1);
    const auto read = [&](std::uint64_t time, std::uint64_t running, std::uint64_t count) {
        Frame one = frame(0, time, std::nullopt);
        one.payload = metagroup::test::payload(one.read_format, {{count}, {0}}, time, running);
        accumulator.add(counts, snapshot({one}, time), 200);
    };
    read(100, 100, 0);
    read(200, 100, 0);
    read(300, 200, 50);
    CHECK(counts.counter(0, 0).count == 25);
    CHECK(counts.counter(0, 0).value() == 50);
    CHECK(counts.counter(0, 0).wall == 100);
}

TEST_CASE("An interval has its share of a difference that began before it") {
    Counts counts(layout_of(1));
    Accumulator accumulator(1);
    accumulator.add(counts, snapshot({frame(0, 1000, 0)}));
    accumulator.add(counts, snapshot({frame(0, 4000, 300)}, 4000), 3000);
    counts.add_up();
    CHECK(counts.at(0, 0).count == 100);
    CHECK(counts.at(0, 0).wall == 1000);
    CHECK(counts.at(0, 0).enabled == 1000);
}

TEST_CASE("A rate is divided by the time between readings, not between sweeps") {
    // Its second record was read 10 ms late.
    constexpr std::uint64_t ms = 1'000'000;
    Counts counts(layout_of(2, AggrMode::all, {{.event = "cpu-clock", .clock = true}}));
    Accumulator accumulator(2);
    const auto clock = [](std::uint32_t cpu, std::uint64_t time) {
        Frame one{.member = cpu, .cpu = cpu, .time = time, .payload = {}};
        one.read_format = metagroup::test::timed;
        one.payload = metagroup::test::payload(one.read_format, {{time}}, time, time);
        return one;
    };
    accumulator.add(counts, snapshot({clock(0, 100 * ms), clock(1, 100 * ms)}, 100 * ms));
    accumulator.add(counts, snapshot({clock(0, 200 * ms), clock(1, 210 * ms)}, 200 * ms));
    counts.add_up();
    CHECK(*counts.rate(counts.at(0, 0), 0) / 1e9 == 2);
}

TEST_CASE(
    "A CPU that was offline for a part of the time does not increase the rate of the others") {
    Counts counts(layout_of(2, AggrMode::all, {{.event = "cpu-clock", .clock = true}}));
    Accumulator accumulator(2);
    const auto read = [&](std::uint64_t time, std::uint64_t second_clock, Status status) {
        for (std::size_t cpu = 0; cpu < 2; ++cpu) {
            const std::array<std::uint64_t, 1> clock{cpu == 0 ? time : second_clock};
            const auto difference = accumulator.add(cpu, {.time = time,
                                                          .enabled = clock[0],
                                                          .running = clock[0],
                                                          .status = cpu == 0 ? Status::ok : status,
                                                          .counts = clock});
            if (difference) counts.add(cpu, *difference);
        }
    };
    read(1000, 1000, Status::ok);
    read(1100, 1100, Status::ok);
    read(2000, 1100, Status::offline);
    counts.add_up(1000);
    CHECK(counts.at(0, 0).offline == 900);
    CHECK(counts.at(0, 0).complete());
    CHECK(counts.at(0, 0).seconds() == 1e-6);
    CHECK(*counts.rate(counts.at(0, 0), 0) == Catch::Approx(1.1e9));
}

TEST_CASE("A reading is shown as the mean of its CPUs, and has no rate") {
    Counts counts(layout_of(2, AggrMode::all, {{.event = "margin", .unit = "C", .reading = true}}));
    Accumulator accumulator(2);
    const auto read = [&](std::uint64_t time, std::uint64_t first, std::uint64_t second) {
        for (std::size_t cpu = 0; cpu < 2; ++cpu) {
            const std::array<std::uint64_t, 1> margin{cpu == 0 ? first : second};
            const auto difference = accumulator.add(
                cpu, {.time = time, .enabled = time, .running = time, .counts = margin});
            if (difference) counts.add(cpu, *difference);
        }
    };
    read(100, 41, 50);
    read(200, 44, 66);
    read(300, 40, 60);
    counts.add_up();
    CHECK(counts.value(counts.at(0, 0), 0) == 50);
    CHECK_FALSE(counts.rate(counts.at(0, 0), 0));
}

TEST_CASE("Adding a snapshot allocates nothing once each member was read") {
    Counts counts(layout_of(2));
    Accumulator accumulator(2);
    const auto first = snapshot({frame(0, 100, 0), frame(1, 100, 0)});
    const auto second = snapshot({frame(0, 200, 5), frame(1, 200, 5)});
    const auto third = snapshot({frame(0, 300, 9), frame(1, 300, 9)});
    accumulator.add(counts, first);
    accumulator.add(counts, second);
    const metagroup::test::AllocationCounter allocations;
    accumulator.add(counts, third);
    counts.add_up();
    CHECK(allocations.count() == 0);
}

TEST_CASE("A snapshot of some of the members is refused: it does not show which") {
    Counts counts(layout_of(2));
    Accumulator accumulator(2);
    accumulator.add(counts, snapshot({frame(0, 100, 0), frame(1, 100, 0)}));
    CHECK_THROWS_AS(accumulator.add(counts, snapshot({frame(1, 200, 5)})), std::invalid_argument);
}
