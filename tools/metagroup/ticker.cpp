// SPDX-License-Identifier: MIT
#include "ticker.hpp"

namespace tool {

int Ticker::wait(const Signals& signals) {
    const auto behind = Clock::now() - next_;
    if (behind > Clock::duration::zero()) {
        const auto over = static_cast<std::uint64_t>(behind / interval_) + 1;
        missed_ += over;
        next_ += over * interval_;
    }
    if (const int signal = signals.wait_until(next_)) return signal;
    lateness_ = Clock::now() - next_;
    next_ += interval_;
    return 0;
}

}  // namespace tool
