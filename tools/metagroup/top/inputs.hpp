// SPDX-License-Identifier: MIT
#pragma once

#include <metagroup/detail/unique_fd.hpp>

#include "signals.hpp"

namespace tool {

// The keyboard and signals: what a tick may be interrupted for.
class Inputs {
  public:
    // The keyboard has something to say: a key, or that it is gone.
    static constexpr int kKeyboard = -1;

    explicit Inputs(const Signals& signals);

    // Sleeps until the deadline, or one of both. \return the signal, kKeyboard, or 0.
    int wait_until(Signals::Clock::time_point deadline) const;

  private:
    metagroup::detail::UniqueFd signals_;
};

}  // namespace tool
