// SPDX-License-Identifier: MIT
// A method on one subject as Google Benchmark runs it: in repetitions, interleaved with others.
#pragma once

#include <benchmark/benchmark.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "conditions.hpp"
#include "costs.hpp"
#include "methods/method.hpp"

namespace bench {

class Case {
  public:
    Case(const MethodInfo& info, Subject& subject) : info_(info), subject_(subject) {}

    // One repetition: its time is the median of the sweeps made in `time`. The first repetition
    // under a load also verifies the counts and counts the costs. After a failure all further
    // repetitions are skipped.
    void run(benchmark::State& state, Load load, Conditions& conditions, CostCounter& costs,
             std::chrono::nanoseconds time);

  private:
    void measure(benchmark::State& state, Load load, Conditions& conditions, CostCounter& costs,
                 std::chrono::nanoseconds time);
    void measure_sweeps(benchmark::State& state, Load load, Conditions& conditions,
                        std::chrono::nanoseconds time);
    void measure_slow(benchmark::State& state, const SlowMotion& slow_motion,
                      std::chrono::nanoseconds time);
    Method& method();

    const MethodInfo& info_;
    Subject& subject_;
    std::unique_ptr<Method> method_;
    std::unique_ptr<Method> without_reader_;  // kept: conditions refer to the groups enabled last
    std::string failure_;
    std::map<Load, Costs> costs_;
};

}  // namespace bench
