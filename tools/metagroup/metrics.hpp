// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "totals.hpp"

namespace tool {

// A figure beside a count: made of it and of the time or of another count.
struct Metric {
    double value = 0;
    std::string unit;  // as perf stat says it: insn per cycle, of all branches, M/sec
    bool percent = false;
};

// Chooses once, for each column, which metric it has; computing it is cheap.
class Metrics {
  public:
    explicit Metrics(const std::vector<Column>& columns);

    // Nothing if the event has none, or what it needs was not counted.
    std::optional<Metric> of(const Totals& totals, std::size_t place, std::size_t column) const;

  private:
    struct Formula {
        std::optional<std::size_t> divisor;  // a column; else the time
        std::string unit;
        bool percent = false;
    };

    std::vector<Formula> formulas_;
};

}  // namespace tool
