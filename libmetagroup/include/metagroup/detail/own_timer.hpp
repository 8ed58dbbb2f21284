// SPDX-License-Identifier: MIT
// The deadlines of an event that samples itself by a timer, as cpu-clock does.
#pragma once

#include <cstdint>

namespace metagroup::detail {

/// Finds the deadlines without a sample, which the kernel reports in part only. The timer's phase
/// is not known: samples are late and never early, and each has a deadline of its own, so the
/// earliest ones show it.
class OwnTimer {
  public:
    /// Deadlines from `first` on count; without it, those from the first sample on.
    explicit OwnTimer(std::uint64_t period = 0, std::uint64_t first = UINT64_MAX)
        : period_(period), next_(first) {}

    /// \return the number of deadlines between the last sample and this one that have none.
    std::uint64_t add(std::uint64_t time) {
        const std::uint64_t lost = time < next_ ? 0 : (time - next_) / period_;
        const bool early = time < next_ || !has_phase_;
        next_ = early ? time + period_ : next_ + (lost + 1) * period_;
        has_phase_ = true;
        return lost;
    }

    /// A record has counted this number of them already.
    void report(std::uint64_t lost) {
        if (has_phase_) next_ += lost * period_;
    }

  private:
    std::uint64_t period_;
    std::uint64_t next_;  // the deadline after the last sample
    bool has_phase_ = false;
};

}  // namespace metagroup::detail
