// SPDX-License-Identifier: MIT
#include "measure/interrupts.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace measure {

std::uint64_t function_call_interrupts() {
    std::ifstream file("/proc/interrupts");
    std::string line;
    while (std::getline(file, line)) {
        // x86: "CAL: 1 2 Function call interrupts"; arm64: "IPI1: 1 2 Function call interrupts"
        if (line.find("Function call interrupts") == std::string::npos) continue;
        std::istringstream fields(line);
        std::string name;
        fields >> name;
        std::uint64_t sum = 0;
        for (std::uint64_t one = 0; fields >> one;)
            sum += one;
        return sum;
    }
    throw std::runtime_error("/proc/interrupts does not list function call interrupts");
}

}  // namespace measure
