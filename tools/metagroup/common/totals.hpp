// SPDX-License-Identifier: MIT
// Sums of counts in rows and columns, the figures beside them, and the cost of counting.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <metagroup/delta.hpp>
#include <metagroup/metagroup.hpp>
#include <metagroup/snapshot.hpp>
#include <metagroup/stream.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/aggregation.hpp"
#include "common/metric_expression.hpp"

namespace tool {

// The count of an event at a place; an estimate if the event was not on the PMU all the time.
struct Count {
    double value = 0;           // in the event's unit
    std::uint64_t enabled = 0;  // ns, of all CPUs
    std::uint64_t running = 0;  // ns
    std::uint64_t offline = 0;  // ns, of all CPUs, for which they were offline: not in the count
    std::size_t cpus = 0;       // that have a count
    double deviation = 0;       // of the mean of several runs, in the event's unit

    // Adds what an event counted on one CPU, if known, and its times.
    void add(std::optional<std::uint64_t> counted, double scale, std::uint64_t enabled_ns,
             std::uint64_t running_ns) {
        enabled += enabled_ns;
        running += running_ns;
        if (!counted) return;
        const auto whole = metagroup::scale_count(*counted, enabled_ns, running_ns);
        if (!whole) return;
        value += *whole * scale;
        ++cpus;
    }
    void add(const Count& other) {
        value += other.value;
        enabled += other.enabled;
        running += other.running;
        offline += other.offline;
        cpus += other.cpus;
    }
    bool known() const { return cpus > 0 && running > 0; }
    // Wall time: the enabled times of all CPUs were added up.
    double seconds() const {
        return static_cast<double>(enabled) / 1e9 / static_cast<double>(cpus);
    }
    // The part of the enabled time for which it was counted, 0 to 1.
    double coverage() const;
};

// The events of all groups, one column each.
struct Column {
    std::string event;
    std::string unit;
    double scale = 1;
    bool supported = true;  // by this machine
    bool once = false;      // counted on one CPU for all of them, as the time
};

// Sums of deltas: a row for each place, a column for each event. Adding allocates nothing.
class Totals {
  public:
    Totals(const metagroup::MetaGroup& group, const Aggregation& rows)
        : Totals(group.groups(), group.members(), rows) {}
    // Groups without members are those that this machine does not support. Events of several PMUs
    // that were written as one are one column, unless `merge` is false.
    Totals(std::span<const metagroup::GroupSpec> groups,
           std::span<const metagroup::MetaGroup::Member> members, const Aggregation& rows,
           bool merge = true);

    Totals(std::vector<Column> columns, const Aggregation& rows);

    void clear();
    void add(const metagroup::Delta& delta);
    // Adds the time for which CPUs were offline, which only sets have.
    void add_offline(const metagroup::Delta& delta);
    // Adds what a member counted: a metagroup::MemberDelta, or what has the same functions.
    template <typename MemberDelta>
    void add_member(std::size_t index, const MemberDelta& member) {
        const auto enabled = member.time_enabled();
        const auto running = member.time_running();
        if (!enabled || !running) return;
        const Target& target = targets_[index];
        const Column* column = &columns_[target.column];
        Count* count = &counts_[target.first + target.column];
        for (std::size_t event = 0; event < target.events; ++event)
            count++->add(member.raw(event), column++->scale, *enabled, *running);
    }
    // Adds what an event counted on one CPU, and its times in ns.
    void add(std::size_t place, std::size_t column, std::optional<std::uint64_t> counted,
             std::uint64_t enabled, std::uint64_t running);
    // Adds the counts of all places of `other`, which has the same columns, to the first place.
    void add_all(const Totals& other);

    std::size_t places() const { return columns_.empty() ? 0 : counts_.size() / columns_.size(); }
    const std::vector<Column>& columns() const { return columns_; }
    const Count& at(std::size_t place, std::size_t column) const {
        return counts_[place * columns_.size() + column];
    }

  private:
    friend class Runs;
    struct Target {
        std::size_t first = 0;   // of counts_: those of its place
        std::size_t column = 0;  // the first
        std::size_t events = 0;
    };

    std::vector<Column> columns_;
    std::vector<Target> targets_;  // by member
    std::vector<Count> counts_;
};

// The mean of several runs, and how far it may be off.
struct Mean {
    void add(double value);
    // Of the mean: the standard deviation of the runs divided by the root of their number.
    double deviation() const;

    std::uint64_t runs = 0;
    double value = 0;
    double squares = 0;  // sum of the squares of the distances from the mean
};

// The mean counts of several runs.
class Runs {
  public:
    void add(double seconds, const Totals& totals);
    const Mean& seconds() const { return seconds_; }
    // There must have been one.
    const Totals& totals() const { return *totals_; }

  private:
    Mean seconds_;
    std::vector<Mean> counts_;
    std::optional<Totals> totals_;
};

// A figure beside a count: its rate, or its ratio to another count.
struct Metric {
    double value = 0;
    std::string_view unit;  // as in perf stat: insn per cycle, of all branches, /sec
    bool percent = false;
};

// True for events that count nanoseconds of CPU time.
bool is_clock(std::string_view event);

// A metric by its expression.
struct DefinedMetric {
    std::size_t column;  // beside which it stands
    MetricExpression expression;
    std::vector<std::optional<std::size_t>> columns;  // by variable; nothing: the time
    double scale;
    std::string label;  // unit and name, as in perf stat: %  branch_miss_rate
};

// The metric of each column is chosen once, so that computing it is cheap.
class Metrics {
  public:
    struct Ratio {
        std::size_t divisor = 0;  // a column
        std::string_view name;    // short, as in IPC
        std::string_view unit;
        bool percent = false;
    };

    explicit Metrics(const std::vector<Column>& columns, std::vector<DefinedMetric> defined = {});

    // The defined metric; or, as perf stat, the ratio if the column has one, else the rate.
    std::optional<Metric> of(const Totals& totals, std::size_t place, std::size_t column) const;

    // Per second; of a clock, CPUs utilized. Nothing if the event was not counted.
    std::optional<Metric> rate(const Totals& totals, std::size_t place, std::size_t column) const;
    // Nothing if the column has no ratio, or one of its events was not counted.
    std::optional<Metric> ratio(const Totals& totals, std::size_t place, std::size_t column) const;
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

    std::optional<Metric> defined(const Totals& totals, std::size_t place,
                                  const DefinedMetric& metric) const;

    std::vector<DefinedMetric> defined_;
    std::vector<Formula> formulas_;
};

// CPU time of this process, without its children.
std::chrono::nanoseconds cpu_time();

// The share of one CPU that this process uses.
class CpuUse {
  public:
    // Since the last call, or the construction; up to 1 for each thread.
    double take();

  private:
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
    std::chrono::nanoseconds used_ = cpu_time();
};

// Quantiles of any number of values in constant memory, exact to one part in 32.
class Histogram {
  public:
    void add(std::uint64_t value) {
        ++buckets_[bucket(value)];
        ++count_;
        max_ = std::max(max_, value);
    }
    std::uint64_t count() const { return count_; }
    // The upper end of the bucket below which this part (0 to 1) of all values lies; 0 if there
    // are none.
    std::uint64_t quantile(double part) const;
    std::uint64_t max() const { return max_; }

  private:
    // Each power of two has this many buckets.
    static constexpr std::size_t kStepBits = 5;
    static constexpr std::size_t kSteps = 1U << kStepBits;

    // Values below kSteps have a bucket each; for larger ones the highest bits select it.
    static std::size_t bucket(std::uint64_t value) {
        if (value < kSteps) return value;
        const std::size_t shift = static_cast<std::size_t>(std::bit_width(value)) - kStepBits - 1;
        return (shift + 1) * kSteps + ((value >> shift) - kSteps);
    }
    static std::uint64_t upper_end(std::size_t bucket);

    std::array<std::uint64_t, (64 - kStepBits + 1) * kSteps> buckets_{};
    std::uint64_t count_ = 0;
    std::uint64_t max_ = 0;
};

// Times in nanoseconds.
struct Overhead {
    void add_sweep(const metagroup::SnapshotView& snapshot) {
        duration.add(snapshot.end_ns() - snapshot.begin_ns());
        skew.add(snapshot.skew_ns());
    }
    void add_deadline(const metagroup::Deadline& deadline);
    std::uint64_t sweeps() const { return duration.count(); }

    Histogram duration;           // of sweeps
    Histogram skew;               // newest minus oldest record of a sweep or deadline
    Histogram lateness;           // of ticks, or of samples
    std::uint64_t missed = 0;     // ticks, or samples
    std::uint64_t deadlines = 0;  // of a stream
    double cpu_use = 0;           // share of one CPU, 0 to 1
};

}  // namespace tool
