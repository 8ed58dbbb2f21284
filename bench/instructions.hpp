// SPDX-License-Identifier: MIT
// Instructions that CPUs execute.
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
        // In the timer's interrupt and not in `kernel`, where that can be told apart.
        std::uint64_t tick = 0;
    };

    InstructionCounter() = default;
    InstructionCounter(const InstructionCounter&) = delete;
    InstructionCounter& operator=(const InstructionCounter&) = delete;
    virtual ~InstructionCounter() = default;

    // So far, on one of the CPUs.
    virtual Count read(int cpu) = 0;

    // From the page of a guest in slow motion, else from the CPUs' own counters; null if there are
    // none. The page must outlive it.
    static std::unique_ptr<InstructionCounter> open(const metagroup::CpuList& cpus,
                                                    const SlowMotion* slow_motion);
};

}  // namespace bench
