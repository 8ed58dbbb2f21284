// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

namespace tool {

// Which columns fit beside each other, and how wide their graphs are.
struct Layout {
    static constexpr std::size_t kGap = 2;
    static constexpr std::size_t kNumber = 6;  // ~12.3M
    static constexpr std::size_t kLeastGraph = 6;

    // `width` is what is left for `series` columns; `wanted` must be among them if any are.
    Layout(std::size_t width, std::size_t series, std::size_t from, std::size_t wanted);

    std::size_t first = 0;
    std::size_t shown = 0;
    std::size_t graph = 0;

    // Of a column, without the gap before it.
    std::size_t width() const { return kNumber + 1 + graph; }
};

// The first of `rows` lines so that the window is full, if there are as many.
std::size_t scroll_to(std::size_t first, std::size_t rows, std::size_t window);

}  // namespace tool
