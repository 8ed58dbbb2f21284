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

    // Sleeps until the next deadline that is not over, or a signal. \return the signal, or 0.
    int wait(const Signals& signals);

    // How late the last wait woke.
    std::chrono::nanoseconds lateness() const { return lateness_; }
    // Deadlines that were missed.
    std::uint64_t missed() const { return missed_; }

  private:
    std::chrono::nanoseconds interval_;
    Clock::time_point next_;
    std::chrono::nanoseconds lateness_{};
    std::uint64_t missed_ = 0;
};

}  // namespace tool
