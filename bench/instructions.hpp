// SPDX-License-Identifier: MIT
// Counts of the instructions that CPUs execute.
#pragma once

#include <cstdint>
#include <memory>
#include <metagroup/cpu_list.hpp>

#include "slow_motion.hpp"

namespace bench {

class InstructionCounter {
  public:
    struct Count {
        std::uint64_t kernel = 0;
        std::uint64_t user = 0;
        // In timer interrupts. Not part of `kernel` in slow motion, else always 0.
        std::uint64_t tick = 0;
    };

    InstructionCounter() = default;
    InstructionCounter(const InstructionCounter&) = delete;
    InstructionCounter& operator=(const InstructionCounter&) = delete;
    virtual ~InstructionCounter() = default;

    // Since some fixed time, on one of the CPUs.
    virtual Count read(int cpu) = 0;

    // From the page of a guest in slow motion, which must outlive the counter, else from hardware
    // counters; null if there are none.
    static std::unique_ptr<InstructionCounter> open(const metagroup::CpuList& cpus,
                                                    const SlowMotion* slow_motion);
};

}  // namespace bench
