// SPDX-License-Identifier: MIT
// The deadlines of an event that samples itself by a timer, as cpu-clock does.
#pragma once

#include <cstdint>

namespace metagroup::detail {

/// Finds the deadlines without a sample, which the kernel reports in part only. Samples are late
/// and never early, so the earliest ones show the timer's phase.
class OwnTimer {
  public:
    explicit OwnTimer(std::uint64_t period = 0) : period_(period) {}

    /// \return the number of deadlines between the last sample and this one that have none.
    std::uint64_t add(std::uint64_t time) {
        const bool early = next_ == 0 || time < next_;
        const std::uint64_t lost = early ? 0 : (time - next_) / period_;
        next_ = early ? time + period_ : next_ + (lost + 1) * period_;
        return lost;
    }

  private:
    std::uint64_t period_;
    std::uint64_t next_ = 0;  // the deadline after the last sample; 0 before the first
};

}  // namespace metagroup::detail
