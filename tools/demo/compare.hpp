// SPDX-License-Identifier: MIT
// What a sweep costs in both ways, measured in turns.
#pragma once

#include "demo/sides.hpp"

namespace demo {

// Of one way to read, per sweep.
struct Cost {
    double microseconds;  // median
    double syscalls;
    double interrupts;  // between CPUs, all of them
};

struct Comparison {
    Cost per_fd;
    Cost module;
};

// The calling thread should be bound to a CPU. `sweeps` of each way.
Comparison compare(Sides& sides, unsigned sweeps);

}  // namespace demo
