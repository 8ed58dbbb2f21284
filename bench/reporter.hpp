// SPDX-License-Identifier: MIT
// Reporters of Google Benchmark that name benchmarks as we do and keep the medians.
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <vector>

namespace bench {

struct Median {
    double time = 0;
    std::map<std::string, double> counters;
};
using Medians = std::map<std::string, Median>;

template <typename Base>
class Reporter : public Base {
  public:
    using Run = benchmark::BenchmarkReporter::Run;

    explicit Reporter(Medians& medians) : medians_(medians) {}

    void ReportRuns(const std::vector<Run>& runs) override {
        std::vector<Run> ours = runs;
        for (Run& run : ours) {
            // All times are the same: those of sweeps, which need not be said in each name.
            run.run_name.time_type.clear();
            if (run.aggregate_name == "median") keep(run);
        }
        Base::ReportRuns(ours);
    }

  private:
    void keep(const Run& run) {
        Median& median = medians_[run.run_name.str()];
        median.time = run.GetAdjustedRealTime();
        for (const auto& [name, counter] : run.counters)
            median.counters[name] = counter.value;
    }

    Medians& medians_;
};

}  // namespace bench
