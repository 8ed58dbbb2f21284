// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <csignal>
#include <ctime>
#include <initializer_list>

namespace tool {

// Signals that are waited for instead of delivered, so that none is missed between two waits.
class Signals {
  public:
    using Clock = std::chrono::steady_clock;

    explicit Signals(std::initializer_list<int> signals);
    ~Signals();
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    // Sleeps until the deadline or a signal. \return the signal, or 0.
    int wait_until(Clock::time_point deadline) const;

    const sigset_t& all() const { return signals_; }
    // What the process had blocked before: for programs that it starts.
    const sigset_t& before() const { return before_; }

  private:
    sigset_t signals_{};
    sigset_t before_{};
};

// As system calls take it; nothing if the deadline is over.
timespec time_left(Signals::Clock::time_point deadline);

}  // namespace tool
