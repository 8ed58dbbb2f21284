// SPDX-License-Identifier: MIT
// A way as Google Benchmark runs it: again and again, in turns with the others.
#pragma once

#include <benchmark/benchmark.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>

#include "conditions.hpp"
#include "costs.hpp"
#include "rivals/ways.hpp"

namespace bench {

class Contestant {
  public:
    Contestant(const Way& way, Subject& subject) : way_(way), subject_(subject) {}

    // One repetition: its time is the median of the sweeps that `time` has room for. The first
    // repetition under a load verifies and counts costs besides.
    void run(benchmark::State& state, Load load, Conditions& conditions, CostCounter& costs,
             std::chrono::nanoseconds time);

    // Why it has no more turns; empty if it has.
    const std::string& defect() const { return defect_; }

  private:
    void measure(benchmark::State& state, Load load, Conditions& conditions, CostCounter& costs,
                 std::chrono::nanoseconds time);
    void measure_on_time(benchmark::State& state, const SlowMotion& slow_motion,
                         std::chrono::nanoseconds time);
    Rival& rival();

    const Way& way_;
    Subject& subject_;
    std::unique_ptr<Rival> rival_;
    std::string defect_;
    std::map<Load, Costs> costs_;
};

}  // namespace bench
