// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tool {

// Quantiles of any number of values in constant memory, exact to one part in 32.
class Histogram {
  public:
    void add(std::uint64_t value);
    std::uint64_t count() const { return count_; }
    // The upper end of what holds this part (0 to 1) of all values; 0 if there are none.
    std::uint64_t quantile(double part) const;
    std::uint64_t max() const { return max_; }

  private:
    // For each power of two, this many steps.
    static constexpr std::size_t kStepBits = 5;
    static constexpr std::size_t kSteps = 1U << kStepBits;

    static std::size_t bucket(std::uint64_t value);
    static std::uint64_t upper_end(std::size_t bucket);

    std::array<std::uint64_t, (64 - kStepBits + 1) * kSteps> buckets_{};
    std::uint64_t count_ = 0;
    std::uint64_t max_ = 0;
};

}  // namespace tool
