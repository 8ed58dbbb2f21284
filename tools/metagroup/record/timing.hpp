// SPDX-License-Identifier: MIT
// The regularity of the samples of a recording.
#pragma once

#include <linux/perf_event.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <metagroup/records.hpp>
#include <span>
#include <unordered_map>
#include <vector>

#include "common/totals.hpp"
#include "own_timer.hpp"

namespace tool {

class Timing {
  public:
    // `common`: the CPUs have the same deadlines; else each member has a timer of its own. Samples
    // of one deadline may be apart by as many samples of other deadlines.
    Timing(std::uint64_t period, bool common, std::size_t apart)
        : period_(period),
          common_(common),
          mask_(std::bit_ceil(apart) - 1),
          deadlines_(mask_ + 1) {}

    void add(const metagroup::Records& records) {
        records.each([this](std::uint32_t type, std::span<const std::byte> record) {
            if (type == PERF_RECORD_SAMPLE && common_)
                add_sample(record);
            else if (type == PERF_RECORD_SAMPLE)
                add_own_sample(record);
            else if (type == PERF_RECORD_LOST_SAMPLES && common_)
                lost_ += metagroup::Records::number_at(record, sizeof(perf_event_header));
        });
    }
    // To be called once, after the last add().
    void finish() {
        for (const Deadline& deadline : deadlines_)
            end(deadline);
    }

    std::uint64_t samples() const { return own_samples_ + lateness_.count(); }
    // Before the last sample of each member.
    std::uint64_t lost() const { return lost_; }
    // From a deadline to its sample, ns.
    const Histogram& lateness() const { return lateness_; }
    // From the first sample of a deadline to the last, ns.
    const Histogram& skew() const { return skew_; }

  private:
    struct Deadline {
        std::uint64_t number = UINT64_MAX;
        std::uint64_t first = 0;
        std::uint64_t last = 0;
        std::uint64_t samples = 0;
    };

    void add_sample(std::span<const std::byte> record) {
        using metagroup::Records;
        const std::uint64_t time = Records::number_at(record, Records::time_at);
        const std::uint64_t number = time / period_;
        lateness_.add(time - number * period_);
        Deadline& deadline = deadlines_[number & mask_];
        if (deadline.number != number) {
            end(deadline);
            deadline = {number, time, time, 1};
            return;
        }
        deadline.first = std::min(deadline.first, time);
        deadline.last = std::max(deadline.last, time);
        ++deadline.samples;
    }
    void add_own_sample(std::span<const std::byte> record) {
        using metagroup::Records;
        ++own_samples_;
        lost_ += timers_.try_emplace(Records::number_at(record, Records::id_at), period_)
                     .first->second.add(Records::number_at(record, Records::time_at));
    }
    void end(const Deadline& deadline) {
        if (deadline.samples > 1) skew_.add(deadline.last - deadline.first);
    }

    std::uint64_t period_;
    bool common_;
    std::uint64_t own_samples_ = 0;
    std::uint64_t lost_ = 0;
    Histogram lateness_;
    Histogram skew_;
    std::uint64_t mask_;
    std::vector<Deadline> deadlines_;  // the latest, by number & mask_
    std::unordered_map<std::uint64_t, metagroup::detail::OwnTimer> timers_;  // by identifier
};

}  // namespace tool
