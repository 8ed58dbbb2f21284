// SPDX-License-Identifier: MIT
#include "top/layout.hpp"

#include <algorithm>

#include "top/history.hpp"

namespace tool {

Layout::Layout(std::size_t width, std::size_t series, std::size_t from, std::size_t wanted)
    : first(from) {
    constexpr std::size_t kBare = kGap + kNumber + 1;
    constexpr std::size_t kMostGraph = 24;
    static_assert(kMostGraph <= History::kLength);
    shown = std::min(series, width / (kBare + kLeastGraph));
    // A number without a graph is better than nothing.
    if (shown == 0 && series > 0 && width >= kGap + kNumber) shown = 1;
    if (shown == 0) return;
    graph = std::min(kMostGraph, std::max(width / shown, kBare) - kBare);
    first = std::min(first, series - shown);
    if (wanted < first) first = wanted;
    if (wanted >= first + shown) first = wanted + 1 - shown;
}

std::size_t scroll_to(std::size_t first, std::size_t rows, std::size_t window) {
    return std::min(first, rows > window ? rows - window : 0);
}

}  // namespace tool
