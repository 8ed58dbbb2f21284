// SPDX-License-Identifier: MIT
// The samples of a recording, summed over intervals, the distributions of their figures, the
// figures over time, and the phases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <metagroup/cpu_list.hpp>
#include <metagroup/recording.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/counts.hpp"
#include "common/totals.hpp"

namespace tool {

// The CPUs and times of the samples.
struct Extent {
    struct Lane {
        std::uint64_t first = 0;  // ns, of the samples
        std::uint64_t last = 0;
        std::size_t events = 0;  // in the largest sample
    };

    metagroup::CpuList cpus{};  // including those without samples, if known
    std::uint64_t begin = 0;    // ns, of the losses; 0 for the start of the recording
    std::uint64_t end = UINT64_MAX;
    std::uint64_t first = 0;  // ns, of the samples
    std::uint64_t last = 0;
    std::uint64_t samples = 0;
    std::map<std::pair<std::size_t, int>, Lane> lanes{};       // by group (its leader) and CPU
    std::map<std::size_t, std::vector<std::size_t>> groups{};  // events that are counted
};

// The samples from `since` to `until`, in ns after the first one. \throws std::runtime_error if
// there are none. \throws as Recording::next().
Extent find_extent(metagroup::Recording& recording, std::uint64_t since, std::uint64_t until);

// The rate of an event, its value if it is a reading, or the ratio of two events.
struct Figure {
    std::string name;
    std::string_view unit;
    std::size_t column = 0;
    bool ratio = false;

    std::optional<Metric> of(const Metrics& metrics, const Counts& counts,
                             std::size_t place) const {
        if (ratio) return metrics.ratio(counts, place, column);
        if (!counts.columns()[column].reading) return metrics.rate(counts, place, column);
        const auto value = counts.value(counts.at(place, column), column);
        return value ? std::optional(Metric{*value, unit, false}) : std::nullopt;
    }
};

// The distribution of a figure over samples. Values are multiplied by `factor`.
struct Distribution {
    std::string_view place;  // empty for all CPUs together
    std::size_t cpus = 0;
    std::string name;
    std::string_view unit;
    double factor = 1;
    const metagroup::Histogram* values = nullptr;
    std::optional<std::uint64_t> lost;  // lost samples of the place
    std::uint64_t expected = 0;         // including lost samples

    // p50, p90, p99 and maximum; empty if there are no values.
    std::vector<double> quantiles() const;
};

class Analysis {
  public:
    // Receives the end of the interval in seconds, and its counts.
    using OnInterval = std::function<void(double, const Counts&)>;

    // Reads the recording from its start.
    Analysis(metagroup::Recording& recording, Extent extent, const Aggregation& rows,
             std::optional<std::uint64_t> interval);

    // Adds the next entry of the recording. \return false after the last one.
    bool step(const OnInterval& on_interval);
    // Adds all entries.
    void run(const OnInterval& on_interval) {
        while (step(on_interval)) {
        }
    }

    const std::vector<Column>& columns() const { return layout_->columns(); }
    const Metrics& metrics() const { return metrics_; }
    const std::vector<Figure>& figures() const { return figures_; }
    // Seconds from the first sample to the last.
    double seconds() const;
    // After the last step: the time from the first sample to the last.
    const Counts& whole() const { return whole_; }
    std::vector<Distribution> distributions() const;

  private:
    // A group on a CPU.
    struct Counter {
        std::size_t lane = 0;
        std::uint64_t last = 0;  // ns, of the samples
        std::size_t group = 0;
    };
    // The counts of a group since its previous sample on a CPU.
    struct Group {
        // Its columns, of which `first` is the number of the first, and all figures.
        Group(const std::vector<Column>& columns, std::size_t first,
              const std::vector<Figure>& all);

        Counts counts;
        Metrics metrics;
        std::vector<std::pair<std::size_t, Figure>> figures{};  // by index among all figures
    };
    struct Span {
        std::uint64_t first = UINT64_MAX;
        std::uint64_t last = 0;
    };

    struct Lane {
        std::uint64_t last_sample = 0;  // ns
        std::uint64_t last_loss = 0;
    };
    struct Losses {
        std::uint64_t lost = 0;
        std::uint64_t expected = 0;
    };

    void add(const metagroup::RecordedEntry& entry);
    void add_sample(const metagroup::RecordedEntry& entry);
    void add_timing(const metagroup::RecordedEntry& entry);
    std::uint64_t lost_inside(const metagroup::RecordedEntry& entry) const;
    void add_figures(const Counter& counter, std::size_t place,
                     const metagroup::Difference& difference);
    bool take_values(const metagroup::RecordedEntry& entry);
    void end_round(std::uint64_t complete);
    void show_intervals(std::uint64_t forced, const OnInterval& on_interval);
    void finish(const OnInterval& on_interval);
    // The deadline of a sample.
    std::uint64_t nominal(std::uint64_t time) const {
        return period_ ? time - time % *period_ : time;
    }

    metagroup::Recording& recording_;
    const Aggregation& rows_;
    Extent extent_;
    std::optional<std::uint64_t> period_;
    std::shared_ptr<const CountLayout> layout_;
    Metrics metrics_;
    std::vector<Figure> figures_;
    Counts whole_;
    Accumulator accumulator_;
    std::optional<Intervals> intervals_;
    std::map<std::pair<std::size_t, int>, Counter> counters_;  // as Extent::lanes
    std::vector<Group> groups_;
    std::vector<std::uint64_t> values_;  // of one sample
    std::vector<std::uint64_t> ids_;
    std::map<std::uint64_t, Span> deadlines_;  // incomplete ones
    // By place and figure. After the last figure: the lateness, or without common deadlines the
    // time between two samples.
    std::map<std::pair<std::size_t, std::size_t>, metagroup::Histogram> histograms_;
    metagroup::Histogram skew_;
    std::uint64_t newest_ = 0;              // ns
    std::uint64_t complete_ = 0;            // ns; no entry to come is older
    std::map<std::size_t, Losses> losses_;  // by place
    // By CPU; without common deadlines, by event and CPU.
    std::map<std::pair<std::size_t, int>, Lane> lanes_;
};

// Figures of places over time, in steps of whole periods or of several samples.
class Timeline {
  public:
    // Reads the recording from its start. There are at most `most` steps.
    Timeline(metagroup::Recording& recording, const Extent& extent, const Aggregation& rows,
             std::vector<Figure> figures, std::uint64_t most);

    const std::vector<Figure>& figures() const { return figures_; }
    const std::vector<Place>& places() const { return rows_.places(); }
    double interval() const { return interval_; }  // seconds of a step
    std::size_t steps() const { return steps_; }
    // Negative if unknown.
    double at(std::size_t figure, std::size_t step, std::size_t place) const {
        return values_[(figure * steps_ + step) * places().size() + place];
    }
    double highest(std::size_t figure) const;
    // The CPUs whose counts a figure includes, and all that count it. Both are less in steps for
    // which it is unknown.
    std::pair<std::size_t, std::size_t> cpus(std::size_t figure) const { return cpus_[figure]; }

  private:
    const Aggregation& rows_;
    std::vector<Figure> figures_;
    double interval_ = 0;
    std::size_t steps_ = 0;
    std::vector<double> values_;                             // by figure, step and place
    std::vector<std::pair<std::size_t, std::size_t>> cpus_;  // by figure
};

// The starts of the phases of a series, in each of which its values are about the same: binary
// segmentation. A phase is split where this reduces the sum of squares most, if by more than 3
// log(n) times the variance of the noise, an information criterion similar to Schwarz's.
std::vector<std::size_t> find_phases(std::span<const double> series);

}  // namespace tool
