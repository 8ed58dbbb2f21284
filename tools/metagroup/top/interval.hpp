// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>

namespace tool {

// Nobody sees more than that.
constexpr std::chrono::nanoseconds kShortestInterval = std::chrono::milliseconds(10);
constexpr std::chrono::nanoseconds kLongestInterval = std::chrono::hours(1);

// The next of 1, 2, 5, 10 ... times a power of ten.
std::chrono::nanoseconds longer(std::chrono::nanoseconds interval);
std::chrono::nanoseconds shorter(std::chrono::nanoseconds interval);

// In the unit that fits: 250 us, 1.5 s.
std::string with_unit(std::chrono::nanoseconds time);

}  // namespace tool
