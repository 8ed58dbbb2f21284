// SPDX-License-Identifier: MIT
// Random schedules, whose readings may also be lost or late, against the sums of the accumulator.
#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <cmath>
#include <cstdint>
#include <metagroup/accumulator.hpp>
#include <vector>

#include "support/random.hpp"
#include "support/schedule.hpp"

using metagroup::Accumulator;
using metagroup::CountLayout;
using metagroup::Counts;
using metagroup::Reading;
using metagroup::test::Random;
using metagroup::test::ScheduledGroup;

namespace {

constexpr std::size_t kEvents = ScheduledGroup::events;
constexpr std::uint64_t kLength = 10'000;  // of an interval

// All members of a schedule, whole and divided into intervals.
struct World {
    World(std::uint64_t seed, bool multiplexed, bool of_cgroup)
        : random(seed),
          cpus(1 + random.below(4)),
          layout(std::make_shared<CountLayout>(
              std::vector<metagroup::Column>(kEvents), lanes(),
              metagroup::Aggregation(metagroup::AggrMode::all, metagroup::CpuList::parse("0-3")))),
          accumulator(cpus, of_cgroup),
          whole(layout),
          intervals(layout, 1'000'000, kLength) {
        for (unsigned cpu = 0; cpu < cpus; ++cpu)
            members.emplace_back(random, metagroup::test::ScheduleOptions{
                                             .multiplexed = multiplexed, .of_cgroup = of_cgroup});
    }

    std::vector<CountLayout::Lane> lanes() const {
        std::vector<CountLayout::Lane> all;
        for (unsigned cpu = 0; cpu < cpus; ++cpu)
            all.push_back({static_cast<int>(cpu), 0, kEvents});
        return all;
    }

    void read(std::size_t index) {
        const double before = whole.counter(index, 0).value();
        if (const auto difference = accumulator.add(index, members[index].read())) {
            whole.add(index, *difference);
            intervals.add(index, *difference);
        }
        went_back = went_back || whole.counter(index, 0).value() < before;
    }

    void step() {
        const std::uint64_t ns = 1 + random.below(30'000);
        for (std::size_t i = 0; i < members.size(); ++i) {
            const Reading before = members[i].reading();
            const std::vector<std::uint64_t> late(before.counts.begin(), before.counts.end());
            members[i].run(ns);
            if (random.one_in(4)) continue;  // lost
            if (random.one_in(20)) members[i].replace();
            if (random.one_in(10)) members[i].reset();
            read(i);
            if (!random.one_in(5)) continue;
            Reading old = before;
            old.counts = late;
            CHECK_FALSE(accumulator.add(i, old));
        }
    }

    void take(std::uint64_t forced) {
        while (const Counts* interval = intervals.take(forced)) {
            for (std::size_t i = 0; i < members.size(); ++i)
                for (std::size_t event = 0; event < kEvents; ++event)
                    sums.at(i).at(event).add(interval->counter(i, event));
        }
    }

    Random random;
    unsigned cpus;
    std::shared_ptr<const CountLayout> layout;
    std::vector<ScheduledGroup> members;
    Accumulator accumulator;
    Counts whole;
    bool went_back = false;
    metagroup::Intervals intervals;
    std::array<std::array<metagroup::Count, kEvents>, 4> sums{};
};

}  // namespace

TEST_CASE("The sums of random schedules are the true counts") {
    const auto seed = GENERATE(range(0, 300));
    const bool multiplexed = seed % 2 == 1;
    const bool of_cgroup = seed % 4 >= 2;
    CAPTURE(seed, multiplexed, of_cgroup);
    World world(static_cast<std::uint64_t>(seed), multiplexed, of_cgroup);
    for (std::size_t i = 0; i < world.members.size(); ++i)
        world.read(i);
    for (int step = 0; step < 60; ++step) {
        world.step();
        if (step % 10 == 0) world.take(0);
    }
    world.take(UINT64_MAX);
    CHECK_FALSE(world.went_back);
    world.whole.add_up();
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < world.members.size(); ++i) {
        for (std::size_t event = 0; event < kEvents; ++event) {
            CAPTURE(i, event);
            const metagroup::Count& whole = world.whole.counter(i, event);
            const auto& truth = world.members[i].truth.at(event);
            all += truth.count;
            CHECK(whole.count == truth.count);
            CHECK(whole.value() == Catch::Approx(truth.whole).epsilon(1e-9).margin(1e-6));
            CHECK(whole.exact() == (!multiplexed || whole.estimate == 0));
            if (!of_cgroup) CHECK(whole.offline == world.members[i].offline);
            if (world.members[i].offline == 0) CHECK(whole.wall == truth.wall);
            CHECK(whole.known() == (truth.wall > 0));
            const metagroup::Count& divided = world.sums.at(i).at(event);
            CHECK(divided.count == whole.count);
            CHECK(divided.estimate == Catch::Approx(whole.estimate).epsilon(1e-9).margin(1e-6));
            CHECK(divided.enabled == whole.enabled);
            CHECK(divided.running == whole.running);
            CHECK(divided.wall == whole.wall);
        }
    }
    CHECK(world.whole.at(0, 0).count + world.whole.at(0, 1).count == all);
}
