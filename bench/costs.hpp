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
#include "instructions.hpp"
#include "measure/tracepoint_counter.hpp"
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
    // How often to look at a counter, and after how many sweeps at least.
    struct Turns {
        unsigned number;
        unsigned sweeps;
    };

    // A pass makes sweeps for `pass`.
    CostCounter(Conditions& conditions, metagroup::CpuList cpus, std::chrono::nanoseconds pass);

    Costs count(Rival& rival, Load load);

  private:
    using Clock = std::chrono::steady_clock;
    using Sample = std::vector<double>;
    struct Growth {
        Sample sweeping;
        Sample net;
    };

    void count_calls(Rival& rival, Load load, Costs& costs);
    void count_interrupts(Rival& rival, Load load, Costs& costs);
    void count_wakeups(Rival& rival, Costs& costs);
    double count_passages(Rival& rival, Load load, measure::TracepointCounter& counter);
    void count_instructions(Rival& rival, Load load, Costs& costs);
    void take_skew(Rival& rival, Load load, Costs& costs);
    static unsigned repeat(Clock::duration time, unsigned least, const std::function<void()>& step);
    Growth per_sweep(Rival& rival, Turns turns, const std::function<Sample()>& counter) const;

    Conditions& conditions_;
    metagroup::CpuList cpus_;
    std::unique_ptr<InstructionCounter> instructions_;
    std::chrono::nanoseconds pass_;
};

}  // namespace bench
