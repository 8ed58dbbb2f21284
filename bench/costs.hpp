// SPDX-License-Identifier: MIT
// The costs of a sweep other than its time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <metagroup/cpu_list.hpp>
#include <string>
#include <vector>

#include "conditions.hpp"
#include "methods/method.hpp"

namespace bench {

// Per sweep, by name; unknown ones are left out:
//   syscalls      of all threads of the program
//   ipis          interrupts from CPU to CPU
//   wakeups       exits from idle
//   reader_insns  instructions on the reader's CPU, which is not read itself here: a CPU that
//                 samples itself would have the cost of a target, too
//   target_insns  mean of the instructions on the other CPUs; of busy ones in the kernel only
//   skew_ns       median of Method::skew_ns()
//   late_p50_ns, late_p99_ns, late_max_ns   of Method::lateness_ns()
//   max_rate      samples of each CPU per second that the reader and the CPUs keep up with, of
//                 methods whose CPUs sample themselves
//   memory_bytes  Method::memory_bytes()
using Costs = std::map<std::string, double>;

struct InstructionCount {
    std::uint64_t kernel = 0;
    std::uint64_t user = 0;
    // In timer interrupts. Not part of `kernel` in slow motion, else always 0.
    std::uint64_t tick = 0;
};

// Counts each cost in a turn of its own, since counting takes time. The background is counted for
// as long without sweeps and subtracted.
class CostCounter {
  public:
    // The sweeps of a pass are split into rounds with at least so many sweeps each.
    struct Rounds {
        unsigned number;
        unsigned min_sweeps;
    };

    // Each cost is counted in one pass, which makes sweeps for the time `pass`.
    CostCounter(Conditions& conditions, metagroup::CpuList cpus, std::chrono::nanoseconds pass);

    // All but instructions.
    Costs count(Method& method, Load load);
    bool counts_instructions() const { return instructions_ != nullptr; }
    // `method` does not read the reader's CPU, unless there is no other.
    void count_instructions(Method& method, Load load, Costs& costs);

  private:
    using Clock = std::chrono::steady_clock;
    using Sample = std::vector<double>;
    struct PerSweep {
        Sample gross;
        Sample net;  // without the background
    };

    void count_calls(Method& method, Load load, Costs& costs);
    void count_interrupts(Method& method, Load load, Costs& costs);
    void count_wakeups(Method& method, Costs& costs);
    double count_events(Method& method, Load load, const std::function<std::uint64_t()>& read);
    void measure_times(Method& method, Load load, Costs& costs);
    static unsigned repeat(Clock::duration time, unsigned min_steps,
                           const std::function<void()>& step);
    PerSweep per_sweep(Method& method, Rounds rounds, const std::function<Sample()>& counter) const;

    Conditions& conditions_;
    metagroup::CpuList cpus_;
    // Since some fixed time on that CPU; null if this machine cannot count them.
    std::function<InstructionCount(int cpu)> instructions_;
    std::chrono::nanoseconds pass_;
};

}  // namespace bench
