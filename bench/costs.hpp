// SPDX-License-Identifier: MIT
// The costs of a sweep other than its time.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "machine.hpp"
#include "methods/method.hpp"

namespace bench {

// Per sweep, by name; unknown ones are left out:
//   syscalls      of all threads of the program
//   ipis          interrupts from CPU to CPU
//   wakeups       exits from idle
//   reader_insns  instructions on the reader's CPU, which is not read itself here: a CPU that
//                 samples itself would have the cost of a target, too
//   target_insns  mean of the instructions on the other CPUs; of busy ones in the kernel only
//   all_insns     the instructions of all CPUs together
//   skew_ns       median of Method::skew_ns()
//   late_p50_ns, late_p99_ns, late_max_ns   of Method::lateness_ns()
//   max_rate      samples of each CPU per second that the reader and the CPUs keep up with, of
//                 methods whose CPUs sample themselves
using Costs = std::map<std::string, double>;

// Counts each cost in a turn of its own, since counting takes time. The background is counted for
// as long without sweeps and subtracted.
class CostCounter {
  public:
    // Each cost is counted in one pass, which makes sweeps for the time `pass`.
    CostCounter(Machine& machine, std::chrono::nanoseconds pass);

    // All but instructions.
    void count(Method& method, Costs& costs) const;
    bool counts_instructions() const { return instructions_ != nullptr; }
    // `method` does not read the reader's CPU, unless there is no other.
    void count_instructions(Method& method, Costs& costs) const;

  private:
    using Sample = std::vector<double>;
    // The sweeps of a pass are split into rounds with at least so many sweeps each.
    struct Rounds {
        unsigned number;
        unsigned min_sweeps;
    };
    struct Growth {
        Sample gross;
        Sample net;  // without the background
    };

    unsigned repeat(Method& method, unsigned rounds, unsigned min_sweeps,
                    const std::function<void()>& sweep) const;
    Growth growth(Method& method, Rounds rounds, const std::function<Sample()>& counter) const;
    void count_events(Method& method, const char* name, const std::string& events,
                      const std::string& filter, Costs& costs) const;
    void measure_times(Method& method, Costs& costs) const;

    Machine& machine_;
    std::chrono::nanoseconds pass_;
    // Of each CPU, since some fixed time; null if this machine cannot count them.
    std::function<std::vector<InstructionCount>()> instructions_;
};

}  // namespace bench
