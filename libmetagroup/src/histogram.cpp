// SPDX-License-Identifier: MIT
#include <metagroup/histogram.hpp>

#include <algorithm>
#include <cmath>

namespace metagroup {

std::uint64_t Histogram::middle(std::size_t bucket) noexcept {
    if (bucket < kSteps) return bucket;
    const std::size_t shift = bucket / kSteps - 1;
    return ((bucket % kSteps + kSteps) << shift) + ((std::uint64_t{1} << shift) - 1) / 2;
}

std::uint64_t Histogram::quantile(double part) const noexcept {
    const auto wanted = static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(count_)));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
        seen += buckets_[i];
        if (wanted == count_) return max_;
        if (seen >= wanted && seen > 0) return std::clamp(middle(i), min_, max_);
    }
    return 0;
}

}  // namespace metagroup
