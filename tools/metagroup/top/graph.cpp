// SPDX-License-Identifier: MIT
#include "top/graph.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

namespace tool {
namespace {

constexpr std::size_t kLevels = 8;
using Levels = std::array<std::string_view, kLevels>;

constexpr Levels kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr Levels kAscii{"_", ".", ":", "-", "=", "+", "*", "#"};

// Only 0 is on the lowest level: little is more than nothing.
std::size_t level(double value, double peak) {
    if (!(value > 0) || !(peak > 0)) return 0;
    const double part = std::min(1.0, value / peak);
    return static_cast<std::size_t>(std::ceil(part * static_cast<double>(kLevels - 1)));
}

}  // namespace

std::string graph(const History& history, std::size_t width, double peak, bool utf8) {
    const Levels& levels = utf8 ? kBlocks : kAscii;
    std::string text;
    for (std::size_t steps = width; steps-- > 0;) {
        const std::optional<double> value = history.ago(steps);
        text += value ? levels[level(*value, peak)] : " ";
    }
    return text;
}

}  // namespace tool
