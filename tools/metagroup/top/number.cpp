// SPDX-License-Identifier: MIT
#include "top/number.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace tool {

std::string short_number(double value) {
    constexpr std::string_view kPrefixes = " kMGTPE";
    if (!std::isfinite(value)) return "-";
    if (value == 0) return "0";
    if (std::abs(value) < 0.005) return fmt::format("{:.0e}", value);
    std::size_t prefix = 0;
    // 999.5 is rounded up, and so already is a thousand.
    while (std::abs(value) >= 999.5) {
        if (++prefix == kPrefixes.size()) return fmt::format("{:.0e}", value * 1e18);
        value /= 1000;
    }
    const double size = std::abs(value);
    const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
    std::string text = fmt::format("{:.{}f}", value, decimals);
    if (prefix > 0) text += kPrefixes[prefix];
    return text;
}

}  // namespace tool
