// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <metagroup/accumulator.hpp>
#include <metagroup/counts.hpp>
#include <set>
#include <utility>

namespace metagroup {
namespace {

// True if both come from one event, or group, that was written for several PMUs.
bool written_alike(const std::vector<EventSpec>& one, const std::vector<EventSpec>& other) {
    return !one.empty() && !one.front().merged.empty() &&
           std::ranges::equal(one, other, {}, &EventSpec::merged, &EventSpec::merged);
}

// Returns the first column of each group. Groups that come from one group written for several PMUs
// are adjacent and distinct.
std::vector<std::size_t> make_columns(std::span<const GroupSpec> groups, bool merge,
                                      std::vector<Column>& columns) {
    std::vector<std::size_t> first_column;
    std::size_t first = 0;  // of those to be added up
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const auto& events = groups[i].events;
        const auto seen = groups.subspan(first, i - first);
        if (merge && !seen.empty() && written_alike(events, seen.front().events) &&
            std::ranges::none_of(seen, [&](const GroupSpec& other) {
                return other.events.front().name == events.front().name;
            })) {
            first_column.push_back(first_column.back());
            continue;
        }
        first = i;
        first_column.push_back(columns.size());
        for (const EventSpec& event : events) {
            Column& column = columns.emplace_back(column_of(event));
            if (merge && !event.merged.empty()) column.event = event.merged;
            column.supported = false;
        }
    }
    return first_column;
}

// The part of a time interval that lies between two times.
class Part {
  public:
    Part(std::uint64_t from, std::uint64_t to, std::uint64_t begin, std::uint64_t end) noexcept
        : length_(to - from),
          begins_(std::clamp(begin, from, to) - from),
          ends_(std::clamp(end, from, to) - from) {}
    // The parts of adjacent intervals add up to the whole.
    std::uint64_t of(std::uint64_t whole) const noexcept {
        return until(ends_, whole) - until(begins_, whole);
    }
    std::uint64_t length() const noexcept { return ends_ - begins_; }

  private:
    std::uint64_t until(std::uint64_t time, std::uint64_t whole) const noexcept {
        if (time == length_) return whole;  // length_ may be 0
        __extension__ using Wide = unsigned __int128;
        return static_cast<std::uint64_t>((Wide{whole} * time + length_ / 2) / length_);
    }

    std::uint64_t length_, begins_, ends_;
};

}  // namespace

bool is_clock(const perf_event_attr& attr) noexcept {
    return attr.type == PERF_TYPE_SOFTWARE &&
           (attr.config == PERF_COUNT_SW_CPU_CLOCK || attr.config == PERF_COUNT_SW_TASK_CLOCK);
}

namespace {

template <typename Event>
Column make_column(const Event& event) {
    return {.event = event.name,
            .unit = event.unit,
            .scale = event.scale,
            .clock = is_clock(event.attr) && !event.on_one_cpu,
            .reading = event.reading};
}

}  // namespace

Column column_of(const EventSpec& event) {
    return make_column(event);
}
Column column_of(const RecordedEvent& event) {
    return make_column(event);
}

CountLayout::CountLayout(std::span<const GroupSpec> groups,
                         std::span<const MetaGroup::Member> members, const Aggregation& rows,
                         bool merge) {
    group_columns_ = make_columns(groups, merge, columns_);
    for (const auto& member : members) {
        const std::size_t events = groups[member.group].events.size();
        const std::size_t first = column_of(member.group);
        for (std::size_t i = 0; i < events; ++i)
            columns_[first + i].supported = true;
        lanes_.push_back({member.cpu, first, events});
        groups_.push_back(member.group);
    }
    place_lanes(rows);
}

CountLayout::CountLayout(std::vector<Column> columns, std::vector<Lane> lanes,
                         const Aggregation& rows)
    : columns_(std::move(columns)), lanes_(std::move(lanes)) {
    place_lanes(rows);
}

void CountLayout::place_lanes(const Aggregation& rows) {
    places_ = rows.places().size();
    for (Lane& lane : lanes_) {
        lane.cell = std::exchange(cells_, cells_ + lane.events);
        lane.place = rows.index_of(lane.cpu);
    }
    sum_of_.resize(places_ * columns_.size());
    for (const Lane& lane : lanes_) {
        std::uint32_t* sum = &sum_of_[lane.place * columns_.size() + lane.column];
        for (std::size_t event = 0; event < lane.events; ++event, ++sum)
            if (*sum == 0) *sum = static_cast<std::uint32_t>(sums_++);
    }
}

std::vector<std::size_t> CountLayout::lanes_of(std::span<const MetaGroup::Member> members) const {
    std::map<std::pair<std::size_t, int>, std::size_t> known;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
        known.emplace(std::pair(groups_[lane], lanes_[lane].cpu), lane);
    std::vector<std::size_t> lanes;
    for (const auto& member : members)
        lanes.push_back(known.at({member.group, member.cpu}));
    return lanes;
}

Counts::Counts(std::shared_ptr<const CountLayout> layout)
    : layout_(std::move(layout)), cells_(layout_->cells()), sums_(layout_->sums()) {
    clear();
}

void Counts::clear() noexcept {
    Count nothing;
    nothing.counters = 1;
    std::ranges::fill(cells_, nothing);
    std::ranges::fill(sums_, Count{});
}

void Counts::add(std::size_t index, const Difference& difference) noexcept {
    const CountLayout::Lane& lane = layout_->lanes()[index];
    const Column* column = &columns()[lane.column];
    Count* cell = &cells_[lane.cell];
    for (std::size_t event = 0; event < lane.events; ++event, ++cell, ++column) {
        cell->enabled += difference.enabled;
        cell->running += difference.running;
        cell->offline += difference.offline;
        if (!difference.has(event, column->reading)) {
            cell->wall += difference.offline;
            continue;
        }
        cell->counted = 1;
        cell->wall += difference.to - difference.from;
        if (column->reading) {
            cell->count = difference.readings[event];
            continue;
        }
        cell->add_count(difference.counts[event]);
        if (difference.missed != 0)
            cell->estimate += static_cast<double>(difference.counts[event]) * difference.missed;
    }
}

void Counts::add(std::size_t index, const Difference& difference, std::uint64_t begin,
                 std::uint64_t end) noexcept {
    const Part counted(difference.from, difference.to, begin, end);
    const Part timed(difference.since, difference.to, begin, end);
    const CountLayout::Lane& lane = layout_->lanes()[index];
    Count* cell = &cells_[lane.cell];
    for (std::size_t event = 0; event < lane.events; ++event, ++cell) {
        cell->enabled += timed.of(difference.enabled);
        cell->running += timed.of(difference.running);
        cell->offline += timed.of(difference.offline);
        const bool reading = columns()[lane.column + event].reading;
        if (!difference.has(event, reading)) {
            cell->wall += timed.of(difference.offline);
            continue;
        }
        if (counted.length() == 0) continue;
        cell->counted = 1;
        cell->wall += counted.length();
        if (reading) {
            cell->count = difference.readings[event];
            continue;
        }
        cell->add_count(counted.of(difference.counts[event]));
        if (difference.missed != 0)
            cell->estimate += static_cast<double>(difference.counts[event]) * difference.missed *
                              static_cast<double>(counted.length()) /
                              static_cast<double>(difference.to - difference.from);
    }
}

void Counts::add_up(std::uint64_t window) noexcept {
    std::ranges::fill(sums_, Count{});
    for (const CountLayout::Lane& lane : layout_->lanes()) {
        for (std::size_t event = 0; event < lane.events; ++event) {
            Count& sum = sums_[layout_->sum_of(lane.place, lane.column + event)];
            const Count& cell = cells_[lane.cell + event];
            sum.add(cell);
            if (cell.counted == 0)
                sum.wall -= cell.wall;  // the mean covers only the others
            else if (cell.wall < window / 2)
                ++sum.partial;
        }
    }
}

Count Counts::total(std::size_t column) const noexcept {
    Count total;
    for (std::size_t place = 0; place < places(); ++place)
        total.add(at(place, column));
    return total;
}

std::optional<double> Counts::value(const Count& count, std::size_t column) const noexcept {
    if (!count.known()) return std::nullopt;
    const Column& event = columns()[column];
    // The mean for readings: a sum of them is meaningless.
    const double value = event.reading ? count.value() / count.counted : count.value();
    const double scaled = value * event.scale;
    return std::isfinite(scaled) ? std::optional(scaled) : std::nullopt;
}

std::optional<double> Counts::rate(const Count& count, std::size_t column) const noexcept {
    if (columns()[column].reading) return std::nullopt;
    const auto counted = value(count, column);
    if (!counted || count.wall == 0) return std::nullopt;
    const double rate = *counted / count.seconds();
    return std::isfinite(rate) ? std::optional(rate) : std::nullopt;
}

bool Counts::sum_common(std::optional<std::size_t> place, std::span<const std::size_t> columns,
                        std::span<Count> sums) const {
    bool complete = true;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        sums[i] = sum(place, columns[i]);
        if (!sums[i].known()) return false;
        complete = complete && sums[i].complete();
    }
    if (complete) return true;
    std::ranges::fill(sums, Count{});
    const auto each_counter = [&](const auto& action) {
        for (const CountLayout::Lane& lane : layout_->lanes()) {
            if (place && lane.place != *place) continue;
            for (std::size_t i = 0; i < columns.size(); ++i)
                if (columns[i] - lane.column < lane.events)
                    action(lane.cpu, i, cells_[lane.cell + columns[i] - lane.column]);
        }
    };
    std::set<int> lacking;  // CPUs
    each_counter([&](int cpu, std::size_t, const Count& counter) {
        if (!counter.known()) lacking.insert(cpu);
    });
    each_counter([&](int cpu, std::size_t i, const Count& counter) {
        if (!lacking.contains(cpu)) sums[i].add(counter);
    });
    return std::ranges::all_of(sums, &Count::known);
}

std::optional<double> Counts::ratio(std::optional<std::size_t> place, std::size_t dividend,
                                    std::size_t divisor) const {
    std::array<Count, 2> sums;
    if (!sum_common(place, std::array{dividend, divisor}, sums)) return std::nullopt;
    const auto above = value(sums[0], dividend);
    const auto below = value(sums[1], divisor);
    if (!above || !below || !std::isfinite(*above / *below)) return std::nullopt;
    return *above / *below;
}

// Welford's algorithm.
void Mean::add(double x) noexcept {
    const double before = x - value;
    value += before / static_cast<double>(++runs);
    squares += before * (x - value);
}

double Mean::deviation() const noexcept {
    if (runs < 2) return 0;
    const auto n = static_cast<double>(runs);
    return std::sqrt(squares / (n - 1) / n);
}

namespace {

// The time of each counter.
std::uint64_t wall_of_each(const Count& count) {
    return count.counted == 0 ? 0 : count.wall / count.counted;
}

// Adds the counts of a run to their means.
void add_run(std::span<const Count> run, std::span<Count> means, std::vector<Mean>& values) {
    values.resize(run.size());
    for (std::size_t i = 0; i < run.size(); ++i) {
        const Count& next = run[i];
        Count& mean = means[i];
        values[i].add(next.value());
        const std::uint64_t n = values[i].runs;
        if (n == 1) continue;
        const auto mean_of = [n](std::uint64_t before, std::uint64_t last) {
            return (before * (n - 1) + last) / n;
        };
        mean.count = 0;
        mean.estimate = values[i].value;
        mean.deviation = values[i].deviation();
        mean.enabled = mean_of(mean.enabled, next.enabled);
        mean.running = mean_of(mean.running, next.running);
        mean.offline = mean_of(mean.offline, next.offline);
        const std::uint64_t wall = mean_of(wall_of_each(mean), wall_of_each(next));
        mean.counted = std::min(mean.counted, next.counted);
        mean.wall = wall * mean.counted;
        mean.partial = std::min(std::max(mean.partial, next.partial), mean.counted);
    }
}

}  // namespace

void Runs::add(double seconds, const Counts& counts) {
    seconds_.add(seconds);
    if (seconds_.runs == 1) counts_ = counts;
    add_run(counts.sums_, counts_->sums_, sums_);
    add_run(counts.cells_, counts_->cells_, cells_);
}

}  // namespace metagroup
