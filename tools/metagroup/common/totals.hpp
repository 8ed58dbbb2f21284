// SPDX-License-Identifier: MIT
// The figures next to counts, and the cost of counting.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <metagroup/histogram.hpp>
#include <metagroup/snapshot.hpp>
#include <metagroup/stream.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/counts.hpp"
#include "common/metric_expression.hpp"

namespace tool {

// A figure next to a count: its rate, or its ratio to another count.
struct Metric {
    double value = 0;
    std::string_view unit;  // as in perf stat: insn per cycle, of all branches, /sec
    bool percent = false;
};

// A metric defined by an expression.
struct DefinedMetric {
    std::size_t column;  // next to which it is shown
    MetricExpression expression;
    std::vector<std::optional<std::size_t>> columns;  // by variable; no value for the time
    double scale;
    std::string label;  // unit and name, as in perf stat: %  branch_miss_rate
};

// The metric of each column is selected once, to make computing it cheap.
class Metrics {
  public:
    using Row = std::optional<std::size_t>;
    struct Ratio {
        std::size_t divisor = 0;  // a column
        std::string_view name;    // short, e.g. IPC
        std::string_view unit;
        bool percent = false;
    };

    explicit Metrics(const std::vector<Column>& columns, std::vector<DefinedMetric> defined = {});

    // The defined metric; otherwise, as in perf stat, the ratio if the column has one, or the rate.
    // For all places if `place` is not given.
    std::optional<Metric> of(const Counts& counts, Row place, std::size_t column) const;

    // Per second; for a clock, CPUs utilized. No value if the event was not counted.
    std::optional<Metric> rate(const Counts& counts, Row place, std::size_t column) const;
    // No value if the column has no ratio, or no CPU has counted both of its events.
    std::optional<Metric> ratio(const Counts& counts, Row place, std::size_t column) const;
    // Of the counts from which of() computes a metric or ratio, the one that lacks most CPUs.
    Count poorest(const Counts& counts, Row place, std::size_t column) const;
    const std::optional<Ratio>& ratio_of(std::size_t column) const {
        return formulas_[column].ratio;
    }
    // Unit and name of the result of of(); empty if it is a rate.
    std::string_view label_of(std::size_t column) const;

  private:
    struct Formula {
        bool clock = false;
        std::optional<Ratio> ratio;
        std::optional<std::size_t> defined;
    };

    std::optional<Metric> defined(const Counts& counts, Row place,
                                  const DefinedMetric& metric) const;

    std::vector<DefinedMetric> defined_;
    std::vector<Formula> formulas_;
};

// CPU time of this process, without its children.
std::chrono::nanoseconds cpu_time();

// The share of one CPU that this process uses.
class CpuUse {
  public:
    // Since the last call or construction; up to 1 per thread.
    double take();

  private:
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
    std::chrono::nanoseconds used_ = cpu_time();
};

// Times in nanoseconds.
struct Overhead {
    void add_sweep(const metagroup::SnapshotView& snapshot) {
        duration.add(snapshot.end_ns() - snapshot.begin_ns());
        skew.add(snapshot.skew_ns());
    }
    void add_deadline(const metagroup::Deadline& deadline);
    std::uint64_t sweeps() const { return duration.count(); }

    metagroup::Histogram duration;  // of sweeps
    metagroup::Histogram skew;      // newest minus oldest record of a sweep or deadline
    metagroup::Histogram lateness;  // of ticks, or of samples
    std::uint64_t missed = 0;       // ticks, or samples
    std::uint64_t deadlines = 0;    // of a stream
    double cpu_use = 0;             // share of one CPU, 0 to 1
};

}  // namespace tool
