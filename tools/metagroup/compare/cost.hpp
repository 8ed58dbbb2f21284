// SPDX-License-Identifier: MIT
// What a sweep costs in both ways, measured in turns.
#pragma once

#include <optional>
#include <string>

#include "compare/sides.hpp"

namespace tool {

// Of one way to read, per sweep.
struct Cost {
    double microseconds = 0;           // median
    std::optional<double> syscalls;    // where the kernel tells
    std::optional<double> interrupts;  // between CPUs, all of them; where the kernel tells
};

struct Comparison {
    Cost per_fd;
    Cost module;
    std::string unknown;  // why something could not be counted
};

// The calling thread should be bound to a CPU. `sweeps` of each way.
Comparison compare(Sides& sides, unsigned sweeps);

}  // namespace tool
