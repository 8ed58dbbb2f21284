// SPDX-License-Identifier: MIT
// What Google Benchmark reports, kept for us and written as JSON.
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <vector>

namespace bench {

// Of one way under one condition.
struct Result {
    double time = 0;  // microseconds
    std::map<std::string, double> counters;
};
using Results = std::map<std::string, Result>;

// Under the names that were registered. Google Benchmark adds which time is meant and the number of
// iterations, which are the same for all here.
class JsonReporter : public benchmark::JSONReporter {
  public:
    void ReportRuns(const std::vector<Run>& runs) override;
};

// Keeps the medians, and hands all on to another one, if there is one.
class Recorder : public benchmark::BenchmarkReporter {
  public:
    explicit Recorder(Results& results, BenchmarkReporter* next) : results_(results), next_(next) {}

    bool ReportContext(const Context& context) override;
    void ReportRuns(const std::vector<Run>& runs) override;
    void Finalize() override;

  private:
    Results& results_;
    BenchmarkReporter* next_;
};

}  // namespace bench
