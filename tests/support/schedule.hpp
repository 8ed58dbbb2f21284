// SPDX-License-Identifier: MIT
// Random schedules of counters, whose true counts are known: CPUs that go offline, events that
// share the PMU, cgroups that do not run, resets, and events that are replaced.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <metagroup/accumulator.hpp>

#include "support/random.hpp"

namespace metagroup::test {

struct ScheduleOptions {
    bool multiplexed = false;
    bool of_cgroup = false;
    bool hotplug = true;
};

/// A group of two events on a CPU. Each event counts so many in a nanosecond.
class ScheduledGroup {
  public:
    static constexpr std::size_t events = 2;

    /// The truth about one event.
    struct Truth {
        std::uint64_t count = 0;  // on the PMU
        double whole = 0;         // had it been on the PMU all the time
        std::uint64_t wall = 0;
    };
    /// The part of the last reading.
    struct Part {
        bool known = false;
        double whole = 0;
        std::uint64_t from = 0, to = 0;

        /// After a time.
        [[nodiscard]] double length(std::uint64_t since) const {
            return static_cast<double>(to - std::max(from, since));
        }
        [[nodiscard]] double value(std::uint64_t since) const {
            return whole * length(since) / length(0);
        }
    };

    ScheduledGroup(Random& random, const ScheduleOptions& options)
        : random_(random), options_(options) {
        for (std::uint64_t& rate : rates_)
            rate = random_.below(1000) * (random_.one_in(4) ? std::uint64_t{1} << 24U : 1);
    }

    void run(std::uint64_t ns) {
        time_ += ns;
        if (options_.hotplug && random_.one_in(8)) toggle_online();
        if (options_.multiplexed) on_pmu_ = !random_.one_in(3);
        const bool rests = options_.of_cgroup && random_.one_in(3);
        if (!online_ || rests) {
            offline_ += online_ ? 0 : ns;
            return;
        }
        enabled_ += ns;
        if (!on_pmu_) return;
        running_ += ns;
        for (std::size_t event = 0; event < events; ++event)
            counts_[event] += rates_[event] * ns;
    }

    /// To be followed by read(), which sees that the counts went back.
    void reset() {
        if (!known_ || running_ == last_running_ || std::ranges::count(last_counts_, 0U) > 0)
            return;
        counts_ = {};
        back_ = true;
    }
    void replace() {
        counts_ = {};
        enabled_ = --fresh_;  // or two replacements in succession look like a rest
        running_ = 100;
        for (std::uint64_t& id : ids_)
            id += 100;
        known_ = false;
    }

    /// The reading of now, and what it adds to the truth.
    Reading read() {
        const bool first = !known_;
        const bool waits = scaled_ != last_enabled_;  // for the PMU
        const bool stood_still = enabled_ == last_enabled_ && !waits;
        const bool counts =
            running_ > last_running_ || (options_.of_cgroup && online_ && stood_still);
        added = {};
        if (!first) {
            enabled += enabled_ - last_enabled_;
            running += running_ - last_running_;
        }
        if (!first && counts) {
            for (std::size_t event = 0; event < events && !back_; ++event) {
                const double whole =
                    static_cast<double>(rates_[event]) * static_cast<double>(enabled_ - scaled_);
                truth[event].count += counts_[event] - last_counts_[event];
                truth[event].whole += whole;
                truth[event].wall += time_ - from_;
                added[event] = {true, whole, from_, time_};
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
    [[nodiscard]] Reading reading() const {
        return {.time = time_,
                .enabled = enabled_,
                .running = running_,
                .status = online_ ? Status::ok : Status::offline,
                .generation = generation_,
                .counts = counts_,
                .ids = ids_};
    }
    [[nodiscard]] std::uint64_t time() const { return time_; }
    [[nodiscard]] bool online() const { return online_; }

    std::array<Truth, events> truth{};
    std::array<Part, events> added{};
    std::uint64_t offline = 0;               // ns, between readings
    std::uint64_t enabled = 0, running = 0;  // ns, between readings

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
    ScheduleOptions options_;
    bool online_ = true, on_pmu_ = true, known_ = false, back_ = false;
    std::uint64_t time_ = 1'000'000, enabled_ = 900, running_ = 500, fresh_ = 300;
    std::uint32_t generation_ = 0;
    std::array<std::uint64_t, events> rates_{}, counts_{7, 9}, ids_{1, 2};
    std::array<std::uint64_t, events> last_counts_{};
    std::uint64_t last_running_ = 0, last_enabled_ = 0, scaled_ = 0, from_ = 0, offline_ = 0;
};

}  // namespace metagroup::test
