// SPDX-License-Identifier: MIT
#include "top/history.hpp"

#include <algorithm>

namespace tool {

void History::add(std::optional<double> value) {
    newest_ = (newest_ + 1) % kLength;
    values_[newest_] = value;
}

std::optional<double> History::ago(std::size_t steps) const {
    if (steps >= kLength) return std::nullopt;
    return values_[(newest_ + kLength - steps) % kLength];
}

double History::peak(std::size_t length) const {
    double highest = 0;
    for (std::size_t steps = 0; steps < length; ++steps)
        highest = std::max(highest, ago(steps).value_or(0));
    return highest;
}

}  // namespace tool
