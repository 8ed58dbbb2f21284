// SPDX-License-Identifier: MIT
#include "ticker.hpp"

namespace tool {

void Ticker::skip_missed() {
    const auto behind = Clock::now() - next_;
    if (behind <= Clock::duration::zero()) return;
    const auto over = static_cast<std::uint64_t>(behind / interval_) + 1;
    missed_ += over;
    next_ += over * interval_;
}

void Ticker::restart(std::chrono::nanoseconds interval) {
    interval_ = interval;
    next_ = Clock::now() + interval;
}

}  // namespace tool
