// SPDX-License-Identifier: MIT
// How comparisons are shown: a table for people, a line of JSON each for programs.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "compare/cost.hpp"
#include "output.hpp"

namespace tool {

// What all rows have in common.
struct Experiment {
    std::string events;
    unsigned sweeps = 0;  // of each way
    int reader = 0;       // the CPU that reads
};

class CompareReport {
  public:
    virtual ~CompareReport() = default;

    virtual void row(std::size_t cpus, const Comparison& comparison, bool same) = 0;
    // After the last row. `same`: whether all of them were.
    virtual void end(bool same) = 0;
};

std::unique_ptr<CompareReport> make_compare_table(Output& output, const Experiment& experiment);
std::unique_ptr<CompareReport> make_compare_json(Output& output, const Experiment& experiment);

}  // namespace tool
