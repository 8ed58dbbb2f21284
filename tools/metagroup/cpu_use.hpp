// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

namespace tool {

// What this process takes from the machine, without its children.
std::chrono::nanoseconds cpu_time();

// The part of one CPU that it uses.
class CpuUse {
  public:
    CpuUse();

    // Since the last call, or the beginning; 0 to 1 for each thread.
    double take();

  private:
    std::chrono::steady_clock::time_point since_;
    std::chrono::nanoseconds used_;
};

}  // namespace tool
