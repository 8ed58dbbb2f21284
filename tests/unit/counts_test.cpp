// SPDX-License-Identifier: MIT
#include <linux/perf_event.h>

#include <array>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <metagroup/accumulator.hpp>
#include <vector>

#include "count_layouts.hpp"

using Catch::Approx;
using metagroup::Aggregation;
using metagroup::AggrMode;
using metagroup::Column;
using metagroup::Count;
using metagroup::CountLayout;
using metagroup::Counts;
using metagroup::CpuList;
using metagroup::Difference;
using metagroup::EventSpec;
using metagroup::test::kSecond;
using metagroup::test::layout_of;

namespace {

constexpr std::array<std::uint64_t, 2> kSome{100, 200};

// Of some CPUs in a second, each; the others were offline.
Counts counted(const std::shared_ptr<const CountLayout>& layout, std::size_t cpus) {
    Counts counts(layout);
    for (std::size_t lane = 0; lane < layout->lanes().size(); ++lane) {
        if (lane < cpus)
            counts.add(lane,
                       {.to = kSecond, .enabled = kSecond, .running = kSecond, .counts = kSome});
        else
            counts.add(lane, {.to = kSecond, .offline = kSecond});
    }
    counts.add_up(kSecond);
    return counts;
}

// Of two events, each in a group of its own.
std::vector<CountLayout::Lane> two_groups(int cpus) {
    std::vector<CountLayout::Lane> lanes;
    for (int cpu = 0; cpu < cpus; ++cpu)
        for (const std::size_t column : {0U, 1U})
            lanes.push_back({cpu, column, 1});
    return lanes;
}

EventSpec software(const char* name, std::uint64_t config) {
    EventSpec event{.name = name};
    event.attr.type = PERF_TYPE_SOFTWARE;
    event.attr.config = config;
    return event;
}

}  // namespace

TEST_CASE("A ratio is computed from CPUs that have both events") {
    // Instructions on CPU 0 only.
    Counts counts(std::make_shared<CountLayout>(
        std::vector<Column>{{.event = "cycles"}, {.event = "instructions"}}, two_groups(4),
        Aggregation(AggrMode::all, CpuList::parse("0-3"))));
    const std::array<std::uint64_t, 1> some{2'000'000'000};
    Difference difference{.to = kSecond, .enabled = kSecond, .running = kSecond, .counts = some};
    for (std::size_t cpu = 0; cpu < 4; ++cpu)
        counts.add(2 * cpu, difference);
    counts.add(1, difference);
    counts.add_up();
    CHECK(counts.ratio(0, 1, 0) == 1.0);
    CHECK(counts.ratio(std::nullopt, 1, 0) == 1.0);
    CHECK(counts.rate(counts.at(0, 0), 0) == 8e9);
    CHECK(counts.rate(counts.at(0, 1), 1) == 2e9);
    CHECK(counts.at(0, 1).counted == 1);
    CHECK(counts.at(0, 1).counters == 4);
}

TEST_CASE("A value that is not finite is not shown") {
    Counts huge(layout_of(1, AggrMode::all, {{.event = "a", .scale = 1e300}, {.event = "b"}}));
    const std::array<std::uint64_t, 2> counts{UINT64_MAX / 2, 0};
    huge.add(0, {.to = 1, .enabled = 1, .running = 1, .counts = counts});
    huge.add_up();
    CHECK_FALSE(huge.value(huge.at(0, 0), 0));
    CHECK_FALSE(huge.rate(huge.at(0, 0), 0));
    CHECK_FALSE(huge.ratio(0, 0, 1));
    CHECK_FALSE(huge.ratio(0, 1, 1));  // 0 / 0
}

TEST_CASE("A rate that is not finite is not shown") {
    Counts huge(layout_of(1, AggrMode::all, {{.event = "a", .scale = 1e300}}));
    const std::array<std::uint64_t, 1> counts{1'000'000};
    huge.add(0, {.to = 1, .enabled = 1, .running = 1, .counts = counts});
    huge.add_up();
    CHECK(huge.value(huge.at(0, 0), 0));
    CHECK_FALSE(huge.rate(huge.at(0, 0), 0));
}

TEST_CASE("A rate is not divided by the time of CPUs that were offline") {
    const Counts counts = counted(layout_of(2), 1);
    CHECK(counts.at(0, 0).seconds() == 1);
    CHECK(counts.rate(counts.at(0, 0), 0) == 100);
    CHECK(counts.at(0, 0).offline == kSecond);
}

TEST_CASE("The total covers all rows, and shows what they miss") {
    Counts counts(layout_of(3, AggrMode::cpu));
    counts.add(0, {.to = 100, .counts = kSome});
    counts.add(1, {.to = 40, .counts = kSome});
    counts.add(2, {.to = 60, .counts = kSome});
    counts.add_up(100);
    const Count total = counts.total(0);
    CHECK(total.count == 300);
    CHECK(total.counted == 3);
    CHECK(total.partial == 1);  // for less than half of the time
    CHECK(total.whole() == 2);
}

TEST_CASE("Cores, caches and dies with the same number are of different sockets, dies and levels") {
    // Two sockets of two dies of two cores. The cores of a die share a cache, on socket 1 of L2.
    std::vector<metagroup::CpuPlace> machine;
    for (int cpu = 0; cpu < 8; ++cpu)
        machine.push_back({cpu / 4, cpu / 2 % 2, cpu % 2, 1 - cpu / 4, 3 - cpu / 4, cpu / 2 % 2});
    const auto names = [&](AggrMode mode) {
        const Aggregation rows(mode, CpuList::parse("0-7"), machine);
        std::string all;
        for (const metagroup::Place& place : rows.places())
            all += place.name + ":" + place.cpus.to_string() + " ";
        return all;
    };
    CHECK(names(AggrMode::core) ==
          "S0-D0-C0:0 S0-D0-C1:1 S0-D1-C0:2 S0-D1-C1:3 "
          "S1-D0-C0:4 S1-D0-C1:5 S1-D1-C0:6 S1-D1-C1:7 ");
    CHECK(names(AggrMode::cache) ==
          "S0-D0-L3-ID0:0-1 S0-D1-L3-ID1:2-3 S1-D0-L2-ID0:4-5 S1-D1-L2-ID1:6-7 ");
    CHECK(names(AggrMode::die) == "S0-D0:0-1 S0-D1:2-3 S1-D0:4-5 S1-D1:6-7 ");
    CHECK(names(AggrMode::socket) == "S0:0-3 S1:4-7 ");
    CHECK(names(AggrMode::node) == "N0:4-7 N1:0-3 ");
    machine[1].cache_level = 2;  // beside that of CPU 0, with the same number
    machine[3].cache = 0;
    CHECK(names(AggrMode::cache) ==
          "S0-D0-L2-ID0:1 S0-D0-L3-ID0:0 S0-D1-L3-ID0:3 S0-D1-L3-ID1:2 "
          "S1-D0-L2-ID0:4-5 S1-D1-L2-ID1:6-7 ");
}

TEST_CASE("CPUs with unknown topology, such as offline CPUs, have their own row") {
    const std::vector<metagroup::CpuPlace> sockets{{.socket = 0}, {}, {.socket = 1}};
    const Aggregation rows(AggrMode::socket, CpuList::parse("0-2"), sockets);
    REQUIRE(rows.places().size() == 3);
    CHECK(rows.places()[0].name == "S0");
    CHECK(rows.places()[1].name == "S1");
    CHECK(rows.places()[2].name == "unknown");
    CHECK(rows.index_of(1) == 2);
    CHECK_THROWS_AS(Aggregation(AggrMode::socket, CpuList({1}), sockets), metagroup::Error);
}

TEST_CASE("A ratio of a row is computed from its own CPUs") {
    // CPU 1 lacks the second event.
    const std::vector<metagroup::CpuPlace> sockets{{.socket = 0}, {.socket = 0}, {.socket = 1}};
    Counts counts(std::make_shared<CountLayout>(
        std::vector<Column>(2), two_groups(3),
        Aggregation(AggrMode::socket, CpuList::parse("0-2"), sockets)));
    const std::array<std::uint64_t, 1> one{1}, three{3}, nine{9};
    for (std::size_t cpu = 0; cpu < 3; ++cpu)
        counts.add(2 * cpu, {.to = 1, .counts = one});
    counts.add(1, {.to = 1, .counts = three});
    counts.add(5, {.to = 1, .counts = nine});
    counts.add_up();
    CHECK(counts.ratio(0, 1, 0) == 3);
    CHECK(counts.ratio(1, 1, 0) == 9);
    CHECK(counts.ratio(std::nullopt, 1, 0) == 6);
}

TEST_CASE("Events that no CPU has in common have no common sums") {
    // No CPU has the third one at all.
    Counts counts(std::make_shared<CountLayout>(std::vector<Column>(3), two_groups(2),
                                                Aggregation(AggrMode::all, CpuList::parse("0-1"))));
    const std::array<std::uint64_t, 1> one{1};
    counts.add(0, {.to = 1, .counts = one});
    counts.add(3, {.to = 1, .counts = one});
    counts.add_up();
    std::array<Count, 2> sums;
    CHECK_FALSE(counts.sum_common(0, std::array<std::size_t, 2>{0, 1}, sums));
    CHECK_FALSE(counts.sum_common(0, std::array<std::size_t, 2>{2, 2}, sums));
}

TEST_CASE("A count without a duration has no rate") {
    Counts counts(layout_of(1));
    counts.add(0, {.counts = kSome});
    counts.add_up();
    CHECK(counts.value(counts.at(0, 0), 0) == 100);
    CHECK_FALSE(counts.rate(counts.at(0, 0), 0));
}

TEST_CASE(
    "Counts are divided over the time since the last count, and times over the time since the last "
    "reading") {
    // Off the PMU until 100.
    const Difference difference{.from = 0,
                                .since = 100,
                                .to = 200,
                                .enabled = 80,
                                .running = 60,
                                .offline = 20,
                                .missed = 1,
                                .counts = kSome};
    Counts first(layout_of(1)), second(layout_of(1)), third(layout_of(1));
    first.add(0, difference, 0, 100);
    second.add(0, difference, 100, 200);
    third.add(0, difference, 200, 300);
    const Count& before = first.counter(0, 0);
    CHECK(before.count == 50);
    CHECK(before.estimate == 50);
    CHECK(before.wall == 100);
    CHECK(before.enabled == 0);
    CHECK(before.running == 0);
    CHECK(before.offline == 0);
    const Count& after = second.counter(0, 0);
    CHECK(after.count == 50);
    CHECK(after.wall == 100);
    CHECK(after.enabled == 80);
    CHECK(after.running == 60);
    CHECK(after.offline == 20);
    CHECK_FALSE(third.counter(0, 0).known());
}

TEST_CASE("A part of a difference has the reading at its end") {
    Counts counts(layout_of(1, AggrMode::all, {{.event = "margin", .reading = true}}));
    const std::array<std::uint64_t, 1> none{0}, margin{40};
    counts.add(0, {.to = 200, .counts = none, .readings = margin}, 100, 200);
    CHECK(counts.counter(0, 0).count == 40);
}

TEST_CASE("The mean of runs has the mean of their times, and misses whatever one of them misses") {
    const auto layout = layout_of(2);
    metagroup::Runs runs;
    runs.add(1, counted(layout, 2));
    runs.add(3, counted(layout, 1));
    CHECK(runs.seconds().value == 2);
    const Count& mean = runs.counts().at(0, 0);
    CHECK(mean.value() == 150);  // of 200 and 100
    CHECK(mean.deviation == Approx(50));
    CHECK(mean.enabled == kSecond + kSecond / 2);
    CHECK(mean.running == kSecond + kSecond / 2);
    CHECK(mean.offline == kSecond / 2);
    CHECK(mean.seconds() == 1);
    CHECK(runs.counts().rate(mean, 0) == 150);
    CHECK(mean.counted == 1);
    CHECK(mean.counters == 2);
    CHECK(runs.counts().counter(0, 0).value() == 100);
}

TEST_CASE("The sums over CPUs with all events are means of the runs, too") {
    // CPU 1 lacks the second event.
    Counts counts(std::make_shared<CountLayout>(std::vector<Column>(2), two_groups(2),
                                                Aggregation(AggrMode::all, CpuList::parse("0-1"))));
    for (const std::size_t lane : {0U, 1U, 2U})
        counts.add(lane, {.to = kSecond, .counts = kSome});
    counts.add_up(kSecond);
    metagroup::Runs runs;
    for (int run = 0; run < 3; ++run)
        runs.add(1, counts);
    std::array<Count, 2> sums;
    REQUIRE(runs.counts().sum_common(0, std::array<std::size_t, 2>{0, 1}, sums));
    CHECK(sums[0].value() == 100);
    CHECK(sums[0].counted == 1);
    CHECK(sums[0].seconds() == 1);
}

TEST_CASE("The mean of runs excludes CPUs that are partial in one of them") {
    const auto layout = layout_of(2);
    Counts partial(layout);
    partial.add(0, {.to = kSecond, .counts = kSome});
    partial.add(1, {.to = kSecond / 4, .counts = kSome});
    partial.add_up(kSecond);
    metagroup::Runs runs;
    runs.add(1, counted(layout, 2));
    runs.add(1, partial);
    CHECK(runs.counts().at(0, 0).whole() == 1);
}

TEST_CASE("Columns have the properties of their events") {
    EventSpec time = software("duration_time", PERF_COUNT_SW_CPU_CLOCK);
    time.on_one_cpu = true;
    EventSpec energy{.name = "energy", .scale = 0.5, .unit = "Joules"};
    energy.attr.type = PERF_TYPE_RAW;
    EventSpec margin{.name = "margin", .reading = true};
    margin.attr.type = PERF_TYPE_RAW;
    const std::vector<metagroup::GroupSpec> groups{
        {{software("a", PERF_COUNT_SW_CPU_CLOCK), software("b", PERF_COUNT_SW_TASK_CLOCK)}},
        {{time}},
        {{energy}},
        {{margin}}};
    const std::vector<metagroup::MetaGroup::Member> members{{0, 0, 0}, {1, 0, 1}, {2, 0, 3}};
    const CountLayout layout(groups, members, Aggregation(AggrMode::all, CpuList({0})));
    const auto& columns = layout.columns();
    REQUIRE(columns.size() == 5);
    CHECK(columns[0].clock);
    CHECK(columns[1].clock);
    CHECK_FALSE(columns[2].clock);  // seconds of wall time, not of CPUs
    CHECK_FALSE(columns[3].clock);  // of another type with the number of a clock
    CHECK(columns[3].scale == 0.5);
    CHECK(columns[3].unit == "Joules");
    CHECK_FALSE(columns[3].supported);
    CHECK(columns[4].reading);
    CHECK(columns[4].supported);
}

TEST_CASE("An event of several PMUs has one column, and the same event twice has two") {
    const auto of_pmu = [](const char* name) {
        return metagroup::GroupSpec{{EventSpec{.name = name, .merged = "imc/reads/"}}};
    };
    const std::vector<metagroup::GroupSpec> groups{of_pmu("imc_0/reads/"), of_pmu("imc_1/reads/"),
                                                   of_pmu("imc_0/reads/"), of_pmu("imc_1/reads/")};
    const CountLayout layout(groups, {}, Aggregation(AggrMode::all, CpuList({0})));
    REQUIRE(layout.columns().size() == 2);
    CHECK(layout.columns()[0].event == "imc/reads/");
    CHECK(layout.column_of(1) == 0);
    CHECK(layout.column_of(3) == 1);
}

TEST_CASE("A group without events has no columns") {
    const std::vector<metagroup::GroupSpec> groups(2);
    const CountLayout layout(groups, {}, Aggregation(AggrMode::all, CpuList({0})));
    CHECK(layout.columns().empty());
}
