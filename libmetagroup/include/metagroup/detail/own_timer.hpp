// SPDX-License-Identifier: MIT
// The deadlines of an event that samples with its own timer, such as cpu-clock.
#pragma once

#include <cstdint>

namespace metagroup::detail {

/// Finds the deadlines without a sample, which the kernel reports only in part. The phase of the
/// timer is unknown, but samples are never early and each has its own deadline, so the earliest
/// ones reveal the phase.
class OwnTimer {
  public:
    /// Counts deadlines from `first` on, or by default from the first sample on.
    explicit OwnTimer(std::uint64_t period = 0, std::uint64_t first = UINT64_MAX)
        : period_(period), next_(first) {}

    /// \return the number of deadlines without a sample between the last sample and this one.
    std::uint64_t add(std::uint64_t time) {
        const std::uint64_t lost = time < next_ ? 0 : (time - next_) / period_;
        const bool early = time < next_ || !has_phase_;
        next_ = early ? time + period_ : next_ + (lost + 1) * period_;
        has_phase_ = true;
        return lost;
    }

    /// A record has already accounted for this number of them.
    void report(std::uint64_t lost) {
        if (has_phase_) next_ += lost * period_;
    }

  private:
    std::uint64_t period_;
    std::uint64_t next_;  // the deadline after the last sample
    bool has_phase_ = false;
};

}  // namespace metagroup::detail
