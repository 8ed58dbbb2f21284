// SPDX-License-Identifier: MIT
/// \file
/// Histogram: quantiles of any number of values.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <metagroup/export.hpp>

namespace metagroup {

/// Quantiles of any number of values in constant memory (15 KiB), exact to one part in 64.
/// Thread safety: as for a container of the standard library.
class METAGROUP_API Histogram {
  public:
    /// Adds a value in constant time, without allocating.
    void add(std::uint64_t value) noexcept {
        ++buckets_[bucket(value)];
        ++count_;
        min_ = std::min(min_, value);
        max_ = std::max(max_, value);
    }
    /// The number of values.
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    /// The value below which `part` (0 to 1) of all values lie: the middle of its bucket, within
    /// the smallest and largest value. 0 without values.
    [[nodiscard]] std::uint64_t quantile(double part) const noexcept;
    /// The largest value; 0 without values.
    [[nodiscard]] std::uint64_t max() const noexcept { return max_; }

  private:
    // Each power of two has this many buckets.
    static constexpr std::size_t kStepBits = 5;
    static constexpr std::size_t kSteps = 1U << kStepBits;

    // Values below kSteps have a bucket each; for larger ones the highest bits select it.
    static std::size_t bucket(std::uint64_t value) noexcept {
        if (value < kSteps) return value;
        const std::size_t shift = static_cast<std::size_t>(std::bit_width(value)) - kStepBits - 1;
        return (shift + 1) * kSteps + ((value >> shift) - kSteps);
    }
    static std::uint64_t middle(std::size_t bucket) noexcept;

    std::array<std::uint64_t, (64 - kStepBits + 1) * kSteps> buckets_{};
    std::uint64_t count_ = 0;
    std::uint64_t min_ = UINT64_MAX;
    std::uint64_t max_ = 0;
};

}  // namespace metagroup
