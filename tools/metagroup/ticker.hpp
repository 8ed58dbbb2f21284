// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>

#include "signals.hpp"

namespace tool {

// Deadlines at a fixed distance. One that is over before anybody waited for it is missed: counted,
// never made up for by shifting the others.
class Ticker {
  public:
    using Clock = Signals::Clock;

    Ticker(std::chrono::nanoseconds interval, Clock::time_point start)
        : interval_(interval), next_(start + interval) {}

    // Sleeps until the next deadline that is not over, or what else the waiter wakes for.
    // \return what woke it, or 0 at the deadline.
    template <typename Waiter>
    int wait(Waiter&& waiter) {
        skip_missed();
        if (const int woken_by = waiter.wait_until(next_)) return woken_by;
        lateness_ = Clock::now() - next_;
        next_ += interval_;
        return 0;
    }

    // Goes on from now; what was missed is kept.
    void restart(std::chrono::nanoseconds interval);

    std::chrono::nanoseconds interval() const { return interval_; }

    // How late the last wait woke.
    std::chrono::nanoseconds lateness() const { return lateness_; }
    // Deadlines that were missed.
    std::uint64_t missed() const { return missed_; }

  private:
    void skip_missed();

    std::chrono::nanoseconds interval_;
    Clock::time_point next_;
    std::chrono::nanoseconds lateness_{};
    std::uint64_t missed_ = 0;
};

}  // namespace tool
