// SPDX-License-Identifier: MIT
// The regularity of the samples of a recording.
#pragma once

#include <linux/perf_event.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
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
        : period_(period), common_(common), deadlines_(std::bit_ceil(apart)) {}

    // Whole records of a stream.
    void add(std::span<const std::byte> records) {
        perf_event_header header{};
        while (records.size() >= sizeof(header)) {
            std::memcpy(&header, records.data(), sizeof(header));
            if (header.size < sizeof(header) || header.size > records.size()) return;
            const auto record = records.first(header.size);
            if (header.type == PERF_RECORD_SAMPLE)
                add_sample(number_at(record, 8), number_at(record, 16));
            else if (header.type == PERF_RECORD_LOST_SAMPLES && common_)
                lost_ += number_at(record, 8);
            records = records.subspan(header.size);
        }
    }
    // To be called once, after the last add().
    void finish() {
        for (const Deadline& deadline : deadlines_)
            end(deadline);
    }

    std::uint64_t samples() const { return samples_; }
    // Before the last sample of each member.
    std::uint64_t lost() const { return lost_; }
    // From a deadline to its sample, ns.
    const Histogram& lateness() const { return lateness_; }
    // From the first sample of a deadline to the last, ns.
    const Histogram& skew() const { return skew_; }

  private:
    struct Deadline {
        std::uint64_t number = 0;
        std::uint64_t first = 0;
        std::uint64_t last = 0;
        std::uint64_t samples = 0;
    };

    static std::uint64_t number_at(std::span<const std::byte> record, std::size_t offset) {
        std::uint64_t number = 0;
        if (record.size() >= offset + sizeof(number))
            std::memcpy(&number, record.data() + offset, sizeof(number));
        return number;
    }

    void add_sample(std::uint64_t id, std::uint64_t time) {
        ++samples_;
        if (!common_) {
            lost_ += timers_.try_emplace(id, period_).first->second.add(time);
            return;
        }
        const std::uint64_t number = time / period_;
        lateness_.add(time - number * period_);
        Deadline& deadline = deadlines_[number & (deadlines_.size() - 1)];
        if (deadline.number != number || deadline.samples == 0) {
            end(deadline);
            deadline = {number, time, time, 1};
            return;
        }
        deadline.first = std::min(deadline.first, time);
        deadline.last = std::max(deadline.last, time);
        ++deadline.samples;
    }
    void end(const Deadline& deadline) {
        if (deadline.samples > 1) skew_.add(deadline.last - deadline.first);
    }

    std::uint64_t period_;
    bool common_;
    std::uint64_t samples_ = 0;
    std::uint64_t lost_ = 0;
    Histogram lateness_;
    Histogram skew_;
    std::vector<Deadline> deadlines_;  // the latest, by number modulo size
    std::unordered_map<std::uint64_t, metagroup::detail::OwnTimer> timers_;  // by identifier
};

}  // namespace tool
