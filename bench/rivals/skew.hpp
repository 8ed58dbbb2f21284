// SPDX-License-Identifier: MIT
// Newest minus oldest of the times at which CPUs were read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace bench {

inline std::uint64_t monotonic_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

class Skew {
  public:
    void note(std::uint64_t time) {
        oldest_ = std::min(oldest_, time);
        newest_ = std::max(newest_, time);
    }
    std::uint64_t ns() const { return newest_ > oldest_ ? newest_ - oldest_ : 0; }

  private:
    std::uint64_t oldest_ = UINT64_MAX;
    std::uint64_t newest_ = 0;
};

}  // namespace bench
