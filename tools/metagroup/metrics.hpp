// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "totals.hpp"

namespace tool {

// A figure beside a count: made of it and of the time or of another count.
struct Metric {
    double value = 0;
    std::string unit;  // as perf stat says it: insn per cycle, of all branches, M/sec
    bool percent = false;
};

// Whether an event counts the nanoseconds of CPUs.
bool is_clock(std::string_view event);

// Chooses once, for each column, which metric it has; computing it is cheap.
class Metrics {
  public:
    struct Ratio {
        std::size_t divisor = 0;  // a column
        std::string_view name;    // in a word, as in IPC
        std::string_view unit;
        bool percent = false;
    };

    explicit Metrics(const std::vector<Column>& columns);

    // The ratio if there is one, else the rate: as perf stat.
    std::optional<Metric> of(const Totals& totals, std::size_t place, std::size_t column) const;

    // Per second, or how many CPUs a clock ran on. Nothing if it was not counted.
    std::optional<Metric> rate(const Totals& totals, std::size_t place, std::size_t column) const;
    // To the other count. Nothing if there is none, or one of both was not counted.
    std::optional<Metric> ratio(const Totals& totals, std::size_t place, std::size_t column) const;
    // Nothing if this column has none.
    const std::optional<Ratio>& ratio_of(std::size_t column) const {
        return formulas_[column].ratio;
    }

  private:
    struct Formula {
        bool clock = false;
        std::optional<Ratio> ratio;
    };

    std::vector<Formula> formulas_;
};

}  // namespace tool
