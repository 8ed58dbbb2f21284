// SPDX-License-Identifier: MIT
// The numbers on the screen, the order of their rows, and their source: counters or a recording.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <metagroup/live_group.hpp>
#include <metagroup/metagroup.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/counts.hpp"
#include "common/intervals.hpp"
#include "common/late_cpus.hpp"
#include "common/metric_table.hpp"
#include "common/replay.hpp"
#include "common/totals.hpp"

namespace tool {

// A column: an event's rate, or a ratio.
struct Series {
    std::string name;
    std::string unit;
};

struct Cell {
    std::optional<double> value;
    bool estimated = false;  // not on the PMU all the time, or not from all CPUs
    // CPUs: those whose count it includes, and all that count the event.
    std::uint32_t counted = 1;
    std::uint32_t counters = 1;

    bool lacks_cpus() const { return value && counted < counters; }
};

struct Update {
    std::vector<Cell> cells;          // by place and series; the last row is the total
    std::vector<std::size_t> online;  // online CPUs of each place
    std::set<int> gaps{};             // CPUs that were offline for a time
};

// The newest values of a cell, in a ring.
class History {
  public:
    // The width of the widest graph.
    static constexpr std::size_t kLength = 32;

    void add(std::optional<double> value);
    // 0 is the newest. No value if it was unknown then or is too old.
    std::optional<double> ago(std::size_t steps) const;
    // The highest of the newest values; 0 if none is known.
    double peak(std::size_t length = kLength) const;

  private:
    std::array<std::optional<double>, kLength> values_{};
    std::size_t newest_ = 0;
};

class Model {
  public:
    // Sort columns: 0 for places, then the series from 1.
    static constexpr std::size_t kByPlace = 0;

    Model(std::vector<Place> places, std::vector<Series> series);

    void update(const Update& update);

    // Replaces the places; values follow with the next update. Keeps order and filter.
    void replace(std::vector<Place> places);

    // Keeps in order() only places with one of these CPUs, e.g. 0-3,8, or whose name contains this
    // text, ignoring case. Empty for all. Total and graphs do not change.
    void filter(std::string text);
    const std::string& filter() const { return filter_; }

    // Sorts numbers in descending order, places in ascending order. The same column again reverses.
    void sort_by(std::size_t column);
    // Sorts by the next column to the left or right, if any.
    void sort_left();
    void sort_right();
    void reverse();
    std::size_t sorted_by() const { return sorted_by_; }
    bool descending() const { return descending_; }
    // Places from top to bottom. Unknown values are last in either direction.
    const std::vector<std::size_t>& order() const { return order_; }

    const std::vector<Place>& places() const { return places_; }
    // The name with the number of CPUs if some are offline or were not counted, and `*` if one was
    // offline for a time. `row` may be the total.
    std::string name_of(std::size_t row) const;
    // True for a place without a CPU online.
    bool is_offline(std::size_t row) const { return row < total() && online_[row] == 0; }
    const std::vector<Series>& series() const { return series_; }
    // The row of the total, after all places.
    std::size_t total() const { return places_.size(); }
    const Cell& cell(std::size_t row, std::size_t series) const {
        return cells_[row * series_.size() + series];
    }
    const History& history(std::size_t row, std::size_t series) const {
        return histories_[row * series_.size() + series];
    }
    // The highest of the newest `length` values of all places, to scale graphs.
    double peak(std::size_t series, std::size_t length) const;

  private:
    void sort();
    bool fits(std::size_t place) const;

    std::vector<Place> places_;
    std::vector<Series> series_;
    std::vector<std::size_t> online_;
    std::set<int> gaps_;
    std::vector<Cell> cells_;
    std::vector<History> histories_;
    std::vector<std::size_t> order_;
    std::size_t sorted_by_ = kByPlace;
    bool descending_ = false;
    std::string filter_;
    std::optional<metagroup::CpuList> filter_cpus_;  // if the filter is a list of CPUs
};

// The intervals that keys select: 1, 2 or 5 times a power of ten.
constexpr std::chrono::nanoseconds kShortestInterval = std::chrono::microseconds(10);
constexpr std::chrono::nanoseconds kLongestInterval = std::chrono::minutes(1);  // limit of a stream
std::chrono::nanoseconds longer(std::chrono::nanoseconds interval);
std::chrono::nanoseconds shorter(std::chrono::nanoseconds interval);

// The columns of the model: the selected metrics, whose events come first in `columns`, then a rate
// for each other event, then ratios.
class Figures {
  public:
    explicit Figures(std::vector<Column> columns, const std::vector<MeasuredMetric>& metrics = {});

    std::vector<Series> series() const;
    // The cells of all places and of their total.
    void fill(std::vector<Cell>& cells, const Counts& counts) const;

  private:
    void add_row(std::vector<Cell>& cells, const Counts& counts, Metrics::Row place) const;

    std::vector<Column> columns_;
    std::vector<Series> chosen_;
    std::vector<std::size_t> chosen_columns_;
    std::size_t first_ = 0;  // first column that does not belong to a selected metric
    Metrics metrics_;
};

class Source {
  public:
    virtual ~Source() = default;

    // Starts an interval now. \return the time after which to call sample().
    virtual std::chrono::nanoseconds restart(std::chrono::nanoseconds interval) = 0;
    // Stops all cost until restart().
    virtual void pause() {}
    // Switches to the next kind of places: CPUs, cores, caches, dies, sockets, nodes, as far as
    // they are known, then CPUs again. Counts until restart() are lost. \return false if there is
    // no other.
    virtual bool fold() { return false; }
    // The counts of the last interval; nullptr at the end of a recording.
    virtual const Update* sample() = 0;
    // True if sample() returns several intervals, one per call, and nullptr after the last one.
    virtual bool has_batches() const { return false; }
    virtual const std::vector<Place>& places() const = 0;
    virtual std::vector<Series> series() const = 0;
    virtual std::string name() const = 0;
    // The time of the last sweep, or the position in the recording.
    virtual std::string progress() const = 0;
    // Samples from CPUs that missed a deadline.
    virtual std::uint64_t missed() const { return 0; }
    virtual std::string problem() const = 0;  // empty if none
};

class LiveSource : public Source {
  public:
    // `method` is as in StreamedIntervals::start(). Uses sweeps until restart().
    // \throws as LiveGroup::open() and Aggregation. The groups of `metrics` come first in the
    // options.
    LiveSource(const metagroup::MetaGroup::Options& options, AggrMode mode,
               std::string method = "sweep", const std::vector<MeasuredMetric>& metrics = {});

    // \throws as StreamedIntervals::start().
    std::chrono::nanoseconds restart(std::chrono::nanoseconds interval) override;
    void pause() override;
    bool fold() override;
    const Update* sample() override;
    bool has_batches() const override { return stream_.has_value(); }
    const std::vector<Place>& places() const override { return rows_.places(); }
    std::vector<Series> series() const override { return figures_.series(); }
    std::string name() const override;
    std::string progress() const override;
    std::uint64_t missed() const override { return overhead_.missed; }
    std::string problem() const override {
        return live_.reopen_error().empty() ? late_.message() : live_.reopen_error();
    }

  private:
    const Counts* count();
    void begin();
    void follow_hotplug();
    void count_online();

    metagroup::LiveGroup live_;
    metagroup::CpuList cpus_;  // including those that are offline now
    LateCpus late_{cpus_};
    Aggregation rows_;
    std::vector<metagroup::MetaGroup::Member> members_;  // of all CPUs
    Counts counts_;
    Accumulator accumulator_;
    std::vector<std::size_t> lanes_;  // by member
    Figures figures_;
    Update update_;
    std::string method_;
    std::chrono::nanoseconds interval_{};
    Overhead overhead_;
    std::optional<StreamedIntervals> stream_;  // no value: sweeps
};

class RecordingSource : public Source {
  public:
    // \throws as Replay.
    RecordingSource(const Replay::Options& options, AggrMode mode,
                    std::chrono::nanoseconds interval);

    std::chrono::nanoseconds restart(std::chrono::nanoseconds interval) override {
        return interval;
    }
    const Update* sample() override;
    const std::vector<Place>& places() const override { return replay_.rows().places(); }
    std::vector<Series> series() const override { return figures_.series(); }
    std::string name() const override { return name_; }
    std::string progress() const override;
    std::string problem() const override;

  private:
    struct Interval {
        double end = 0;  // seconds
        Counts counts;
    };

    std::string name_;
    Replay replay_;
    Figures figures_;
    std::deque<Interval> ahead_;
    double now_ = 0;  // seconds
    bool ended_ = false;
    Update update_;
};

}  // namespace tool
