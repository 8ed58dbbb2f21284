// SPDX-License-Identifier: MIT
#include "top/interval.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace tool {
namespace {

using std::chrono::nanoseconds;

std::vector<nanoseconds> steps() {
    std::vector<nanoseconds> all;
    for (nanoseconds power = kShortestInterval; power < kLongestInterval; power *= 10) {
        for (const int times : {1, 2, 5})
            all.push_back(std::min(times * power, kLongestInterval));
    }
    return all;
}

}  // namespace

nanoseconds longer(nanoseconds interval) {
    const auto all = steps();
    const auto next = std::ranges::upper_bound(all, interval);
    return next == all.end() ? std::max(interval, kLongestInterval) : *next;
}

nanoseconds shorter(nanoseconds interval) {
    const auto all = steps();
    const auto at = std::ranges::lower_bound(all, interval);
    return at == all.begin() ? kShortestInterval : *(at - 1);
}

std::string with_unit(nanoseconds time) {
    const auto ns = static_cast<double>(time.count());
    if (ns < 1e3) return fmt::format("{} ns", time.count());
    if (ns < 1e6) return fmt::format("{:.4g} us", ns / 1e3);
    if (ns < 1e9) return fmt::format("{:.4g} ms", ns / 1e6);
    return fmt::format("{:.4g} s", ns / 1e9);
}

}  // namespace tool
