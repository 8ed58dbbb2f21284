// SPDX-License-Identifier: MIT
// Interrupts as the kernel counts them.
#pragma once

#include <cstdint>

namespace measure {

// Function call interrupts that all CPUs have received so far, from
// /proc/interrupts: both a broadcast and the read() of a perf event send them.
// Throws std::runtime_error if the kernel does not tell.
std::uint64_t function_call_interrupts();

}  // namespace measure
