// SPDX-License-Identifier: MIT
/// \file
/// Counts: the counts of events over some time, by counter and by place, and what is missing.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <metagroup/aggregation.hpp>
#include <metagroup/event_spec.hpp>
#include <metagroup/export.hpp>
#include <metagroup/metagroup.hpp>
#include <metagroup/recording.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace metagroup {

struct Difference;

/// The count of an event over some time, on one CPU or summed over several. An unknown count is not
/// 0: see known() and complete().
struct METAGROUP_API Count {
    std::uint64_t count = 0;     ///< exact; for a reading such as a temperature, the newest value
    double estimate = 0;         ///< to be added for the time not on the PMU
    std::uint64_t enabled = 0;   ///< ns, summed over CPUs
    std::uint64_t running = 0;   ///< ns on the PMU
    std::uint64_t offline = 0;   ///< ns for which CPUs were offline: nothing was counted
    std::uint64_t wall = 0;      ///< ns for which the count is known, of the counters that counted
    std::uint32_t counted = 0;   ///< counters whose count is known
    std::uint32_t partial = 0;   ///< in a sum, those known for less than half of the time
    std::uint32_t counters = 0;  ///< expected: one on each CPU that counts the event
    double deviation = 0;        ///< standard error, if this is the mean of several runs

    /// False if the event was not counted in this time.
    [[nodiscard]] bool known() const noexcept { return counted > 0; }
    /// False if the count lacks some counters.
    [[nodiscard]] bool complete() const noexcept { return missing() == 0; }
    /// Counters whose count is known for at least half of the time.
    [[nodiscard]] std::uint32_t whole() const noexcept { return counted - partial; }
    [[nodiscard]] std::uint32_t missing() const noexcept { return counters - whole(); }
    /// True if the value is not an estimate.
    [[nodiscard]] bool exact() const noexcept { return estimate == 0; }
    [[nodiscard]] double value() const noexcept { return static_cast<double>(count) + estimate; }
    /// Wall time. 0 if the event was not counted.
    [[nodiscard]] double seconds() const noexcept {
        return counted == 0 ? 0 : static_cast<double>(wall) / 1e9 / counted;
    }
    /// The fraction of the enabled time that was spent on the PMU, 0 to 1.
    [[nodiscard]] double coverage() const noexcept {
        return enabled == 0 ? 0 : static_cast<double>(running) / static_cast<double>(enabled);
    }
    /// Exact while the sum fits into 64 bits.
    void add_count(std::uint64_t more) noexcept {
        if (__builtin_add_overflow(count, more, &count)) estimate += 0x1p64;
    }
    void add(const Count& other) noexcept {
        add_count(other.count);
        estimate += other.estimate;
        enabled += other.enabled;
        running += other.running;
        offline += other.offline;
        wall += other.wall;
        counted += other.counted;
        partial += other.partial;
        counters += other.counters;
    }
};

/// An event.
struct Column {
    std::string event{};
    std::string unit{};
    double scale = 1;
    bool supported = true;  ///< by this machine
    bool clock = false;     ///< counts nanoseconds of CPU time
    bool reading = false;   ///< a state such as a temperature: EventSpec::reading
};

/// True for the kernel's software clocks.
METAGROUP_API bool is_clock(const perf_event_attr& attr) noexcept;

METAGROUP_API Column column_of(const EventSpec& event);
METAGROUP_API Column column_of(const RecordedEvent& event);

/// Maps counters to sums: each member has a counter for each event of its group.
class METAGROUP_API CountLayout {
  public:
    /// One member.
    struct Lane {
        int cpu = -1;
        std::size_t column = 0;  ///< of the first event
        std::size_t events = 0;  ///< number of columns
        std::size_t cell = 0;    ///< of the first event
        std::size_t place = 0;   ///< row
    };

    /// A group without members is not supported by this machine. An event that was written once for
    /// several PMUs is one column, unless `merge` is false.
    CountLayout(std::span<const GroupSpec> groups, std::span<const MetaGroup::Member> members,
                const Aggregation& rows, bool merge = true);
    /// Only `cpu`, `column` and `events` of the lanes must be set.
    CountLayout(std::vector<Column> columns, std::vector<Lane> lanes, const Aggregation& rows);

    [[nodiscard]] const std::vector<Column>& columns() const noexcept { return columns_; }
    [[nodiscard]] const std::vector<Lane>& lanes() const noexcept { return lanes_; }
    /// The first column of a group.
    [[nodiscard]] std::size_t column_of(std::size_t group) const { return group_columns_[group]; }
    /// The lane of each member of a meta-group with the same groups, on all or some of the CPUs.
    [[nodiscard]] std::vector<std::size_t> lanes_of(
        std::span<const MetaGroup::Member> members) const;
    [[nodiscard]] std::size_t places() const noexcept { return places_; }
    [[nodiscard]] std::size_t cells() const noexcept { return cells_; }
    /// The sum of a place and column among all sums; 0 if nothing counts the event there.
    [[nodiscard]] std::size_t sum_of(std::size_t place, std::size_t column) const noexcept {
        return sum_of_[place * columns_.size() + column];
    }
    [[nodiscard]] std::size_t sums() const noexcept { return sums_; }

  private:
    void place_lanes(const Aggregation& rows);

    std::vector<Column> columns_;
    std::vector<Lane> lanes_;
    std::vector<std::size_t> group_columns_;
    std::vector<std::size_t> groups_;  // by lane
    std::size_t places_ = 0;
    std::size_t cells_ = 0;
    std::vector<std::uint32_t> sum_of_;  // by place and column; most are 0 if there are many
    std::size_t sums_ = 1;
};

/// The counts of all counters and their sums: one row per place, one column per event.
class METAGROUP_API Counts {
  public:
    explicit Counts(std::shared_ptr<const CountLayout> layout);

    [[nodiscard]] const CountLayout& layout() const noexcept { return *layout_; }
    [[nodiscard]] const std::shared_ptr<const CountLayout>& shared_layout() const noexcept {
        return layout_;
    }
    [[nodiscard]] const std::vector<Column>& columns() const noexcept { return layout_->columns(); }
    [[nodiscard]] std::size_t places() const noexcept { return layout_->places(); }

    void clear() noexcept;
    /// Adds the counts of lane `index`. Does not allocate.
    void add(std::size_t index, const Difference& difference) noexcept;
    /// Adds the part between two times, in ns.
    void add(std::size_t index, const Difference& difference, std::uint64_t begin,
             std::uint64_t end) noexcept;
    /// Computes the sums. `window` is the length of the time in ns, or 0 if unknown; counters known
    /// for less than half of it are partial.
    void add_up(std::uint64_t window = 0) noexcept;

    /// The sum that add_up() computed. Not scaled to its unit: see Column::scale.
    [[nodiscard]] const Count& at(std::size_t place, std::size_t column) const noexcept {
        return sums_[layout_->sum_of(place, column)];
    }
    /// The sum over all places.
    [[nodiscard]] Count total(std::size_t column) const noexcept;
    /// The count of one counter.
    [[nodiscard]] const Count& counter(std::size_t lane, std::size_t event) const noexcept {
        return cells_[layout_->lanes()[lane].cell + event];
    }
    /// The value in the unit of the column; no value if it was not counted or is not finite.
    [[nodiscard]] std::optional<double> value(const Count& count,
                                              std::size_t column) const noexcept;
    /// The value per second of wall time. No value as above, or if no time has passed.
    [[nodiscard]] std::optional<double> rate(const Count& count, std::size_t column) const noexcept;
    /// Sums columns over those CPUs on which none of their counters is unknown; over all places if
    /// `place` is not given. \return false if a column has no count.
    bool sum_common(std::optional<std::size_t> place, std::span<const std::size_t> columns,
                    std::span<Count> sums) const;
    /// The ratio of two columns, over the CPUs on which both are known.
    [[nodiscard]] std::optional<double> ratio(std::optional<std::size_t> place,
                                              std::size_t dividend, std::size_t divisor) const;
    /// The count of a place, or of all places if none is given.
    [[nodiscard]] Count sum(std::optional<std::size_t> place, std::size_t column) const noexcept {
        return place ? at(*place, column) : total(column);
    }

  private:
    friend class Runs;
    std::shared_ptr<const CountLayout> layout_;
    std::vector<Count> cells_;  // by counter
    std::vector<Count> sums_;   // as in the layout; the first is empty
};

/// The mean of several runs and its standard error.
struct METAGROUP_API Mean {
    void add(double value) noexcept;
    /// The standard error of the mean: the standard deviation of the runs divided by the square
    /// root of their number.
    [[nodiscard]] double deviation() const noexcept;

    std::uint64_t runs = 0;
    double value = 0;
    double squares = 0;  ///< sum of squared deviations from the mean
};

/// The mean counts of several runs.
class METAGROUP_API Runs {
  public:
    void add(double seconds, const Counts& counts);
    [[nodiscard]] const Mean& seconds() const noexcept { return seconds_; }
    /// Requires at least one add().
    [[nodiscard]] const Counts& counts() const { return *counts_; }

  private:
    Mean seconds_;
    std::vector<Mean> sums_;
    std::vector<Mean> cells_;
    std::optional<Counts> counts_;
};

}  // namespace metagroup
