// SPDX-License-Identifier: MIT
// Random schedules of counters, whose true counts are known, against the sums of the accumulator:
// CPUs that go offline, events that share the PMU, cgroups that do not run, readings that are lost
// or late, resets, and events that are replaced.
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

using metagroup::Accumulator;
using metagroup::CountLayout;
using metagroup::Counts;
using metagroup::Reading;
using metagroup::Status;
using metagroup::test::Random;

namespace {

constexpr std::size_t kEvents = 2;
constexpr std::uint64_t kLength = 10'000;  // of an interval

// The truth about one event on one CPU.
struct Truth {
    std::uint64_t count = 0;  // on the PMU
    double whole = 0;         // had it been on the PMU all the time
    std::uint64_t wall = 0;
};

// A group on a CPU: each event counts so many in a nanosecond.
class Member {
  public:
    Member(Random& random, bool multiplexed, bool of_cgroup)
        : random_(random), multiplexed_(multiplexed), of_cgroup_(of_cgroup) {
        for (std::uint64_t& rate : rates_)
            rate = random_.below(1000) * (random_.one_in(4) ? std::uint64_t{1} << 24U : 1);
    }

    void run(std::uint64_t ns) {
        time_ += ns;
        if (random_.one_in(8)) toggle_online();
        if (multiplexed_) on_pmu_ = !random_.one_in(3);
        const bool rests = of_cgroup_ && random_.one_in(3);
        if (!online_ || rests) {
            offline_ += online_ ? 0 : ns;
            return;
        }
        enabled_ += ns;
        if (!on_pmu_) return;
        running_ += ns;
        for (std::size_t event = 0; event < kEvents; ++event)
            counts_[event] += rates_[event] * ns;
    }

    // To be followed by read(), which sees that the counts went back.
    void reset() {
        if (!known_ || running_ == last_running_ || std::ranges::count(last_counts_, 0U) > 0)
            return;
        counts_ = {};
        back_ = true;
    }
    void replace() {
        counts_ = {};
        enabled_ = running_ = 0;
        for (std::uint64_t& id : ids_)
            id += 100;
        known_ = false;
    }

    // The reading of now, and what it adds to the truth.
    Reading read() {
        const bool first = !known_;
        const bool waits = scaled_ != last_enabled_;  // for the PMU
        const bool stood_still = enabled_ == last_enabled_ && !waits;
        if (!first && (running_ > last_running_ || (of_cgroup_ && online_ && stood_still))) {
            for (std::size_t event = 0; event < kEvents && !back_; ++event) {
                truth[event].count += counts_[event] - last_counts_[event];
                truth[event].whole +=
                    static_cast<double>(rates_[event]) * static_cast<double>(enabled_ - scaled_);
                truth[event].wall += time_ - from_;
            }
            back_ = false;
            mark();
        } else if (first || stood_still) {
            mark();
        }
        if (!first) offline += offline_;
        offline_ = 0;
        known_ = true;
        last_running_ = running_;
        last_enabled_ = enabled_;
        return reading();
    }
    Reading reading() const {
        return {.time = time_,
                .enabled = enabled_,
                .running = running_,
                .status = online_ ? Status::ok : Status::offline,
                .generation = generation_,
                .counts = counts_,
                .ids = ids_};
    }

    std::array<Truth, kEvents> truth{};
    std::uint64_t offline = 0;

  private:
    void toggle_online() {
        online_ = !online_;
        if (online_) ++generation_;
    }
    void mark() {
        last_counts_ = counts_;
        scaled_ = enabled_;
        from_ = time_;
    }

    Random& random_;
    bool multiplexed_, of_cgroup_;
    bool online_ = true, on_pmu_ = true, known_ = false, back_ = false;
    std::uint64_t time_ = 1'000'000, enabled_ = 500, running_ = 500;
    std::uint32_t generation_ = 0;
    std::array<std::uint64_t, kEvents> rates_{}, counts_{7, 9}, ids_{1, 2};
    std::array<std::uint64_t, kEvents> last_counts_{};
    std::uint64_t last_running_ = 0, last_enabled_ = 0, scaled_ = 0, from_ = 0, offline_ = 0;
};

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
            members.emplace_back(random, multiplexed, of_cgroup);
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
    std::vector<Member> members;
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
