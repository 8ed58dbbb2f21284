// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>

#include "common/process.hpp"

namespace tool {

// Deadlines at a fixed distance. A deadline that passes before wait() is called is counted as
// missed; the later ones do not shift.
class Ticker {
  public:
    using Clock = Signals::Clock;

    Ticker(std::chrono::nanoseconds interval, Clock::time_point start)
        : interval_(interval), next_(start + interval) {}

    // The next deadline that is not over.
    Clock::time_point next() {
        const auto behind = Clock::now() - next_;
        if (behind > Clock::duration::zero()) {
            const auto over = static_cast<std::uint64_t>(behind / interval_) + 1;
            missed_ += over;
            next_ += over * interval_;
        }
        return next_;
    }

    // Sleeps until next(), or until the waiter wakes for something else.
    // \return what the waiter returned, 0 at the deadline.
    template <typename Waiter>
    int wait(Waiter&& waiter) {
        if (const int woken_by = waiter.wait_until(next())) return woken_by;
        lateness_ = Clock::now() - next_;
        next_ += interval_;
        return 0;
    }

    // Starts again now; keeps the number of missed deadlines.
    void restart(std::chrono::nanoseconds interval) {
        interval_ = interval;
        next_ = Clock::now() + interval;
    }

    std::chrono::nanoseconds interval() const { return interval_; }

    // From the last deadline to the return of its wait.
    std::chrono::nanoseconds lateness() const { return lateness_; }
    std::uint64_t missed() const { return missed_; }

  private:
    std::chrono::nanoseconds interval_;
    Clock::time_point next_;
    std::chrono::nanoseconds lateness_{};
    std::uint64_t missed_ = 0;
};

}  // namespace tool
