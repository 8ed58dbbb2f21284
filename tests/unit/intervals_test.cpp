// SPDX-License-Identifier: MIT
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <metagroup/accumulator.hpp>

#include "count_layouts.hpp"

using metagroup::AggrMode;
using metagroup::Counts;
using metagroup::Difference;
using metagroup::Intervals;
using metagroup::test::layout_of;

namespace {

constexpr std::array<std::uint64_t, 2> kHundred{100, 100};

Difference between(std::uint64_t from, std::uint64_t to) {
    return {.from = from, .since = from, .to = to, .counts = kHundred};
}

}  // namespace

TEST_CASE("The counts of a gap are divided among the intervals that it covers") {
    metagroup::Intervals intervals(layout_of(2), 0, 100);
    const std::array<std::uint64_t, 2> little{100, 100}, much{350, 350};
    for (std::uint64_t time = 0; time < 400; time += 100)
        intervals.add(0, {.from = time, .since = time, .to = time + 100, .counts = little});
    CHECK(intervals.take() == nullptr);  // the other one is late
    intervals.add(1, {.from = 0, .since = 0, .to = 350, .counts = much});
    for (int interval = 0; interval < 3; ++interval) {
        const Counts* counts = intervals.take();
        REQUIRE(counts != nullptr);
        CHECK(counts->at(0, 0).count == 200);
        CHECK(counts->at(0, 0).complete());
        CHECK(intervals.taken_until() == static_cast<std::uint64_t>(interval + 1) * 100);
    }
    CHECK(intervals.take() == nullptr);
    const Counts* last = intervals.take(UINT64_MAX);
    REQUIRE(last != nullptr);
    CHECK(last->at(0, 0).count == 150);
}

TEST_CASE("Counts after the end belong to the last interval, even if it is not shorter") {
    metagroup::Intervals intervals(layout_of(1), 0, 100, 200);
    intervals.add(0, between(0, 100));
    intervals.add(0, between(100, 250));
    for (int interval = 0; interval < 2; ++interval) {
        const Counts* counts = intervals.take();
        REQUIRE(counts != nullptr);
        CHECK(counts->at(0, 0).count == 100);
    }
}

TEST_CASE("An interval in which a counter was seen for less than half of it says so") {
    metagroup::Intervals intervals(layout_of(2), 0, 100);
    const std::array<std::uint64_t, 2> counts{10, 10};
    intervals.add(0, {.from = 0, .since = 0, .to = 100, .counts = counts});
    intervals.add(1, {.from = 0, .since = 0, .to = 40, .counts = counts});
    const Counts* interval = intervals.take(UINT64_MAX);
    REQUIRE(interval != nullptr);
    CHECK(interval->at(0, 0).counted == 2);
    CHECK(interval->at(0, 0).whole() == 1);
    CHECK_FALSE(interval->at(0, 0).complete());
}

TEST_CASE("Huge times in a recording do not increase the number of intervals that are kept") {
    metagroup::Intervals intervals(layout_of(1), 0, 1);
    const std::array<std::uint64_t, 2> counts{10, 10};
    intervals.add(0, {.from = 0, .since = 0, .to = UINT64_MAX / 2, .counts = counts});
    const Counts* interval = intervals.take();
    REQUIRE(interval != nullptr);
    CHECK(interval->at(0, 0).count == 10);
    CHECK(intervals.taken_until() == UINT64_MAX / 2);
    CHECK(intervals.take() == nullptr);
}

TEST_CASE("Counts before the first or after the last interval belong to these intervals") {
    Intervals intervals(layout_of(1), 100, 100, 250);
    intervals.add(0, between(90, 190));
    intervals.add(0, between(190, 390));
    const Counts* interval = intervals.take();
    REQUIRE(interval != nullptr);
    CHECK(interval->counter(0, 0).count == 105);
    CHECK(interval->counter(0, 0).wall == 110);
    interval = intervals.take();
    REQUIRE(interval != nullptr);
    CHECK(interval->counter(0, 0).count == 95);
    CHECK(intervals.taken_until() == 250);
    CHECK(intervals.take(UINT64_MAX) == nullptr);
}

TEST_CASE("A gap is divided among fewer intervals if they have many counters") {
    for (const auto& [lanes, expected] : {std::pair(1, 5000), std::pair(500, 1)}) {
        Intervals intervals(layout_of(lanes), 0, 1);
        intervals.add(0, between(0, 5000));
        int open = 0;
        while (intervals.take(UINT64_MAX) != nullptr)
            ++open;
        CHECK(open == expected);
        CHECK(intervals.taken_until() == 5000);
    }
}

TEST_CASE("A short last interval is complete if it was seen to its end") {
    Intervals intervals(layout_of(1), 0, 100, 140);
    intervals.add(0, between(0, 140));
    REQUIRE(intervals.take() != nullptr);
    const Counts* last = intervals.take();
    REQUIRE(last != nullptr);
    CHECK(last->counter(0, 0).wall == 40);
    CHECK(last->at(0, 0).complete());
}

TEST_CASE("Of a late reading, only the share of later intervals is added") {
    Intervals intervals(layout_of(2), 0, 100);
    intervals.add(0, between(0, 100));
    REQUIRE(intervals.take(100) != nullptr);
    intervals.add(1, between(0, 100));
    CHECK(intervals.take(UINT64_MAX) == nullptr);
    intervals.add(1, between(0, 200));
    const Counts* next = intervals.take(UINT64_MAX);
    REQUIRE(next != nullptr);
    CHECK(next->at(0, 0).count == 50);
    CHECK(intervals.taken_until() == 200);
}

TEST_CASE("An interval before the first reading is not shown") {
    Intervals intervals(layout_of(1), 0, 100);
    intervals.begin(0, 100);
    intervals.add(0, between(100, 200));
    REQUIRE(intervals.take() != nullptr);
    CHECK(intervals.taken_until() == 200);
}

TEST_CASE("An event that is never on the PMU does not hold intervals back forever") {
    Intervals intervals(layout_of(1), 0, 1);
    for (const std::uint64_t time : {100U, 50'000U})
        intervals.add(0, {.from = 0, .since = time - 1, .to = time, .enabled = 1});
    CHECK(intervals.take() != nullptr);
}
