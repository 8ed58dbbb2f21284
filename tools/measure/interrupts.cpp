// SPDX-License-Identifier: MIT
#include "measure/interrupts.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace measure {

std::uint64_t interprocessor_interrupts() {
    // x86: "CAL: 1 2 Function call interrupts"; arm64: "IPI1: 1 2 Function call interrupts"
    constexpr std::array<std::string_view, 3> kinds{
        "Function call interrupts", "Rescheduling interrupts", "IRQ work interrupts"};
    std::ifstream file("/proc/interrupts");
    std::string line;
    bool found = false;
    std::uint64_t sum = 0;
    while (std::getline(file, line)) {
        if (std::ranges::none_of(kinds, [&](auto kind) { return line.ends_with(kind); })) continue;
        found = true;
        std::istringstream fields(line);
        std::string name;
        fields >> name;
        for (std::uint64_t one = 0; fields >> one;)
            sum += one;
    }
    if (!found) throw std::runtime_error("/proc/interrupts does not list function call interrupts");
    return sum;
}

}  // namespace measure
