// SPDX-License-Identifier: MIT
// The intervals between updates that keys select: 1, 2, 5, 10 ... times a power of ten.
#pragma once

#include <algorithm>
#include <chrono>

namespace tool {

constexpr std::chrono::nanoseconds kShortestInterval = std::chrono::milliseconds(10);
constexpr std::chrono::nanoseconds kLongestInterval = std::chrono::hours(1);

inline std::chrono::nanoseconds longer(std::chrono::nanoseconds interval) {
    for (auto power = kShortestInterval; power < kLongestInterval; power *= 10) {
        for (const int times : {1, 2, 5})
            if (times * power > interval) return std::min(times * power, kLongestInterval);
    }
    return std::max(interval, kLongestInterval);
}

inline std::chrono::nanoseconds shorter(std::chrono::nanoseconds interval) {
    auto below = kShortestInterval;
    for (auto next = below; next < std::min(interval, kLongestInterval); next = longer(next))
        below = next;
    return interval > kLongestInterval ? kLongestInterval : below;
}

}  // namespace tool
