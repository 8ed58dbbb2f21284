// SPDX-License-Identifier: MIT
// What a sweep costs beside its time.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <metagroup/cpu_list.hpp>
#include <string>
#include <vector>

#include "conditions.hpp"
#include "measure/instructions.hpp"
#include "rivals/rival.hpp"

namespace bench {

// Per sweep, by name; what is not known is not there:
//   syscalls       of all threads of the program
//   ipis           interrupts from CPU to CPU
//   wakeups        CPUs that were idle and came out of it
//   monitor_insns  instructions on the monitor's CPU
//   target_insns   instructions on another CPU, the mean over them; of busy ones the kernel's only
//   skew_ns        median of Rival::skew_ns()
//   memory_bytes   Rival::memory_bytes()
using Costs = std::map<std::string, double>;

// Each is counted in a turn of its own, since counting takes time. What happens without sweeps as
// well is counted for as long again, and subtracted.
class CostCounter {
  public:
    // A pass makes sweeps for `pass`, but 3 at least and 1000 at most.
    CostCounter(Conditions& conditions, metagroup::CpuList cpus, std::chrono::nanoseconds pass);

    Costs count(Rival& rival, Load load);

  private:
    using Sample = std::vector<double>;
    struct Growth {
        Sample sweeping;
        Sample resting;
        double net(std::size_t i) const { return sweeping[i] - resting[i]; }
    };

    void count_calls(Rival& rival, Load load, Costs& costs);
    void count_wakeups(Rival& rival, Costs& costs);
    void count_instructions(Rival& rival, Load load, Costs& costs);
    void take_skew(Rival& rival, Load load, Costs& costs);
    unsigned repeat(const std::function<void()>& step) const;
    Growth per_sweep(Rival& rival, const std::function<Sample()>& counter) const;

    Conditions& conditions_;
    metagroup::CpuList cpus_;
    std::unique_ptr<measure::InstructionCounter> instructions_;
    std::chrono::nanoseconds pass_;
};

}  // namespace bench
