// SPDX-License-Identifier: MIT
// Interrupts as the kernel counts them.
#pragma once

#include <cstdint>

namespace measure {

// Interrupts by which CPUs have called on one another so far, all CPUs together, from
// /proc/interrupts: function calls, which both a broadcast and the read() of a perf event make;
// rescheduling, which wakes a thread elsewhere; and IRQ work. Throws std::runtime_error if the
// kernel does not tell.
std::uint64_t interprocessor_interrupts();

}  // namespace measure
