// SPDX-License-Identifier: MIT
#include "sums.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>
#include <string_view>

#include "calls.hpp"

namespace metagroup::python {
namespace {

using namespace py::literals;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

AggrMode mode_named(const std::string& name) {
    static const std::map<std::string_view, AggrMode> modes{
        {"all", AggrMode::all},     {"cpu", AggrMode::cpu}, {"core", AggrMode::core},
        {"cache", AggrMode::cache}, {"die", AggrMode::die}, {"socket", AggrMode::socket},
        {"node", AggrMode::node}};
    const auto found = modes.find(name);
    if (found == modes.end())
        throw std::invalid_argument("unknown places '" + name +
                                    "': all, cpu, core, cache, die, socket or node");
    return found->second;
}

CpuList cpus_of(const MetaGroup& group) {
    std::set<int> cpus;
    for (const MetaGroup::Member& member : group.members())
        cpus.insert(member.cpu);
    return CpuList({cpus.begin(), cpus.end()});
}

Aggregation rows_of(const std::string& places, const CpuList& cpus,
                    const TableSums::Topology& topology) {
    const AggrMode mode = mode_named(places);
    if (!topology) return {mode, cpus};
    std::vector<CpuPlace> all;
    for (const auto& [socket, die, core, node, level, cache] : *topology)
        all.push_back({socket, die, core, node, level, cache});
    return {mode, cpus, all};
}

std::shared_ptr<const CountLayout> layout_of(const TableSums::Groups& groups,
                                             const Aggregation& rows) {
    std::vector<Column> columns;
    std::vector<CountLayout::Lane> lanes;
    for (const auto& [events, cpus] : groups) {
        for (const int cpu : cpus)
            lanes.push_back({cpu, columns.size(), events.size()});
        for (const auto& [name, unit, scale, reading] : events)
            columns.push_back({.event = name, .unit = unit, .scale = scale, .reading = reading});
    }
    return std::make_shared<CountLayout>(std::move(columns), std::move(lanes), rows);
}

CpuList cpus_of(const TableSums::Groups& groups) {
    std::set<int> all;
    for (const auto& [events, cpus] : groups)
        all.insert(cpus.begin(), cpus.end());
    return CpuList({all.begin(), all.end()});
}

// The sums of all places and columns, as arrays in order of places.
class Table {
  public:
    Table(const Aggregation& rows, const Counts& counts) : rows_(rows), counts_(counts) {}

    py::dict arrays() const {
        std::vector<std::string> places;
        for (const Place& place : rows_.places())
            places.push_back(place.name);
        std::vector<std::string> events;
        std::vector<std::string> units;
        for (const Column& column : counts_.columns()) {
            events.push_back(column.event);
            units.emplace_back(unit_of(column));
        }
        return py::dict(
            "places"_a = places, "events"_a = events, "units"_a = units,
            "known"_a = array<bool>([](const Count& c, std::size_t) { return c.known(); }),
            "count"_a = array<std::uint64_t>([](const Count& c, std::size_t) { return c.count; }),
            "value"_a = array<double>([this](const Count& count, std::size_t column) {
                return counts_.value(count, column).value_or(kNaN);
            }),
            "rate"_a = array<double>([this](const Count& count, std::size_t column) {
                return counts_.rate(count, column).value_or(kNaN);
            }),
            "time_enabled"_a =
                array<std::uint64_t>([](const Count& c, std::size_t) { return c.enabled; }),
            "time_running"_a =
                array<std::uint64_t>([](const Count& c, std::size_t) { return c.running; }),
            "counted"_a =
                array<std::uint32_t>([](const Count& c, std::size_t) { return c.whole(); }),
            "counters"_a =
                array<std::uint32_t>([](const Count& c, std::size_t) { return c.counters; }));
    }

  private:
    template <typename Number, typename Get>
    py::array_t<Number> array(const Get& get) const {
        const std::size_t columns = counts_.columns().size();
        py::array_t<Number> all(static_cast<py::ssize_t>(counts_.places() * columns));
        Number* next = all.mutable_data();
        for (std::size_t place = 0; place < counts_.places(); ++place)
            for (std::size_t column = 0; column < columns; ++column)
                *next++ = get(counts_.at(place, column), column);
        return all;
    }

    const Aggregation& rows_;
    const Counts& counts_;
};

}  // namespace

std::string unit_of(const Column& column) {
    return column.clock ? "ns" : column.unit;
}

SweepSums::SweepSums(const MetaGroup& group, const std::string& places, bool of_cgroup,
                     std::shared_ptr<const void> source)
    : rows_(mode_named(places), cpus_of(group)),
      layout_(std::make_shared<CountLayout>(group.groups(), group.members(), rows_)),
      accumulator_(group.members().size(), of_cgroup),
      counts_(layout_),
      source_(std::move(source)) {}

void SweepSums::add(const SnapshotView& sweep, const std::shared_ptr<const void>& source) {
    if (source != source_) throw std::invalid_argument("the snapshot is from another meta-group");
    accumulator_.add(counts_, sweep);
    if (begin_ == 0) begin_ = sweep.begin_ns();
    end_ = std::max(end_, sweep.begin_ns());
}

py::dict SweepSums::sums() {
    counts_.add_up(end_ - begin_);
    return Table(rows_, counts_).arrays();
}

TableSums::TableSums(const Groups& groups, const Topology& topology, const std::string& places,
                     std::pair<std::uint64_t, std::uint64_t> extent,
                     std::optional<std::uint64_t> interval)
    : rows_(rows_of(places, cpus_of(groups), topology)),
      layout_(layout_of(groups, rows_)),
      accumulator_(layout_->lanes().size()),
      whole_(layout_),
      extent_(extent) {
    if (interval) intervals_.emplace(layout_, extent.first, *interval, extent.second);
    std::size_t lane = 0;
    std::size_t column = 0;
    for (const auto& [events, cpus] : groups) {
        Group& group = groups_.emplace_back();
        group.column = column;
        group.events = events.size();
        for (const int cpu : cpus)
            group.lanes.emplace(cpu, lane++);
        column += events.size();
    }
}

py::array_t<double> TableSums::add(std::size_t group, const Array<std::uint64_t>& times,
                                   const Array<std::int32_t>& cpus,
                                   const Array<std::uint64_t>& enabled,
                                   const Array<std::uint64_t>& running,
                                   const std::vector<Array<std::uint64_t>>& counts) {
    constexpr std::size_t pause = std::size_t{1} << 12U;  // rows between two checks for signals
    const auto size = times.size();
    if (cpus.size() != size || enabled.size() != size || running.size() != size ||
        counts.size() != groups_.at(group).events ||
        std::ranges::any_of(counts, [&](const auto& one) { return one.size() != size; }))
        throw std::invalid_argument("the arrays differ in length");
    py::array_t<double> rates({size, static_cast<py::ssize_t>(counts.size())});
    std::vector<const std::uint64_t*> columns;
    for (const auto& column : counts)
        columns.push_back(column.data());
    std::vector<double> factors;  // to a rate per second; a reading has none
    for (std::size_t event = 0; event < columns.size(); ++event) {
        const Column& column = layout_->columns()[groups_[group].column + event];
        factors.push_back(column.reading ? kNaN : column.scale * 1e9);
    }
    const std::map<int, std::size_t>& lanes = groups_[group].lanes;
    std::vector<std::uint64_t> values(columns.size());
    double* rate = rates.mutable_data();
    const std::uint64_t* const time = times.data();
    const std::uint64_t* const time_enabled = enabled.data();
    const std::uint64_t* const time_running = running.data();
    const std::int32_t* const cpu = cpus.data();
    const OthersRun others_run;
    for (std::size_t row = 0; row < static_cast<std::size_t>(size); ++row) {
        if (row % pause == 0) check_signals();
        for (std::size_t event = 0; event < values.size(); ++event)
            values[event] = columns[event][row];
        const std::size_t lane = lanes.at(cpu[row]);
        const auto difference = accumulator_.add(lane, {.time = time[row],
                                                        .enabled = time_enabled[row],
                                                        .running = time_running[row],
                                                        .status = Status::idle,
                                                        .counts = values});
        if (difference && intervals_) intervals_->add(lane, *difference);
        if (difference && !intervals_) whole_.add(lane, *difference);
        for (std::size_t event = 0; event < values.size(); ++event) {
            const auto estimate = difference ? difference->estimate(event) : std::nullopt;
            *rate++ = estimate ? *estimate * factors[event] /
                                     static_cast<double>(difference->to - difference->from)
                               : kNaN;
        }
    }
    return rates;
}

py::list TableSums::sums() {
    py::list all;
    const auto append = [&](std::uint64_t end, const Counts& counts) {
        all.append(py::make_tuple(end, Table(rows_, counts).arrays()));
    };
    if (!intervals_) {
        whole_.add_up(extent_.second - extent_.first);
        append(extent_.second, whole_);
        return all;
    }
    while (const Counts* counts = intervals_->take(UINT64_MAX)) {
        append(intervals_->taken_until(), *counts);
        check_signals();
    }
    return all;
}

}  // namespace metagroup::python
