// SPDX-License-Identifier: MIT
#include "top/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <metagroup/cpu_list.hpp>
#include <metagroup/error.hpp>
#include <numeric>
#include <system_error>
#include <utility>

#include "common/text.hpp"

namespace tool {
namespace {

// Lower coverage marks an estimate: perf stat shows two decimals of the percentage.
constexpr double kWholeTime = 0.99995;

// `count` is the poorest of those from which the value was computed.
Cell cell(const std::optional<double>& value, const Count& count) {
    if (!value) return {};
    return {value, count.coverage() < kWholeTime || !count.complete(), count.whole(),
            count.counters};
}

Cell cell(const std::optional<Metric>& metric, const Count& count) {
    return metric ? cell(std::optional(metric->value), count) : Cell{};
}

bool has_text(const std::string& name, const std::string& text) {
    return ::strcasestr(name.c_str(), text.c_str()) != nullptr;
}

}  // namespace

void History::add(std::optional<double> value) {
    newest_ = (newest_ + 1) % kLength;
    values_[newest_] = value;
}

std::optional<double> History::ago(std::size_t steps) const {
    if (steps >= kLength) return std::nullopt;
    return values_[(newest_ + kLength - steps) % kLength];
}

double History::peak(std::size_t length) const {
    double highest = 0;
    for (std::size_t steps = 0; steps < length; ++steps)
        highest = std::max(highest, ago(steps).value_or(0));
    return highest;
}

Model::Model(std::vector<Place> places, std::vector<Series> series) : series_(std::move(series)) {
    replace(std::move(places));
}

void Model::replace(std::vector<Place> places) {
    places_ = std::move(places);
    cells_.assign((places_.size() + 1) * series_.size(), {});
    histories_.assign(cells_.size(), {});
    online_.clear();
    for (const Place& place : places_)
        online_.push_back(place.cpus.size());
    sort();
}

void Model::filter(std::string text) {
    filter_ = std::move(text);
    filter_cpus_.reset();
    if (!filter_.empty() && std::isdigit(static_cast<unsigned char>(filter_.front())) != 0) {
        try {
            filter_cpus_ = metagroup::CpuList::parse(filter_);
        } catch (const metagroup::Error&) {
            // An incomplete list, or a text.
        }
    }
    sort();
}

bool Model::fits(std::size_t place) const {
    if (filter_cpus_) return !places_[place].cpus.intersect(*filter_cpus_).empty();
    return has_text(places_[place].name, filter_);
}

std::string Model::name_of(std::size_t row) const {
    std::string name = row == total() ? "total" : places_[row].name;
    std::size_t counted = 0;
    std::size_t all = 0;
    for (std::size_t place = 0; place < places_.size(); ++place) {
        if (row != total() && row != place) continue;
        counted += online_[place];
        all += places_[place].cpus.size();
    }
    for (std::size_t i = 0; i < series_.size(); ++i) {
        const Cell& one = cell(row, i);
        if (!one.lacks_cpus() || one.counted >= counted) continue;
        counted = one.counted;
        all = one.counters;
    }
    if (counted != 0 && counted != all) name += fmt::format(" {}/{}", counted, all);
    if (row == total()) return name;
    const Place& place = places_[row];
    const bool gap = std::ranges::any_of(place.cpus, [&](int cpu) { return gaps_.contains(cpu); });
    return gap ? name + '*' : name;
}

void Model::update(const Update& update) {
    cells_ = update.cells;
    online_ = update.online;
    gaps_ = update.gaps;
    for (std::size_t i = 0; i < cells_.size(); ++i)
        histories_[i].add(cells_[i].value);
    sort();
}

void Model::sort_by(std::size_t column) {
    if (column > series_.size()) return;
    if (column == sorted_by_) {
        reverse();
        return;
    }
    sorted_by_ = column;
    descending_ = column != kByPlace;
    sort();
}

void Model::sort_left() {
    if (sorted_by_ > 0) sort_by(sorted_by_ - 1);
}

void Model::sort_right() {
    if (sorted_by_ < series_.size()) sort_by(sorted_by_ + 1);
}

void Model::reverse() {
    descending_ = !descending_;
    sort();
}

void Model::sort() {
    order_.resize(places_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::erase_if(order_, [this](std::size_t place) { return !fits(place); });
    if (sorted_by_ == kByPlace) {
        if (descending_) std::ranges::reverse(order_);
        return;
    }
    const auto value = [&](std::size_t place) { return cell(place, sorted_by_ - 1).value; };
    std::ranges::stable_sort(order_, [&](std::size_t a, std::size_t b) {
        if (!value(a) || !value(b)) return value(a).has_value() > value(b).has_value();
        return descending_ ? *value(a) > *value(b) : *value(a) < *value(b);
    });
}

double Model::peak(std::size_t series, std::size_t length) const {
    double highest = 0;
    for (std::size_t place = 0; place < places_.size(); ++place)
        highest = std::max(highest, history(place, series).peak(length));
    return highest;
}

std::chrono::nanoseconds longer(std::chrono::nanoseconds interval) {
    for (auto power = kShortestInterval; power < kLongestInterval; power *= 10) {
        for (const int times : {1, 2, 5})
            if (times * power > interval) return std::min(times * power, kLongestInterval);
    }
    return std::max(interval, kLongestInterval);
}

std::chrono::nanoseconds shorter(std::chrono::nanoseconds interval) {
    auto below = kShortestInterval;
    for (auto next = below; next < std::min(interval, kLongestInterval); next = longer(next))
        below = next;
    return interval > kLongestInterval ? kLongestInterval : below;
}

Figures::Figures(std::vector<Column> columns, const std::vector<MeasuredMetric>& metrics)
    : columns_(std::move(columns)), metrics_(columns_, defined_metrics(metrics, columns_)) {
    for (const MeasuredMetric& metric : metrics)
        chosen_.push_back({metric.definition.name, metric.definition.unit});
    for (const DefinedMetric& metric : defined_metrics(metrics, columns_)) {
        chosen_columns_.push_back(metric.column);
        for (const std::optional<std::size_t>& column : metric.columns)
            first_ = std::max(first_, column.value_or(0) + 1);
    }
}

std::vector<Series> Figures::series() const {
    std::vector<Series> all = chosen_;
    for (std::size_t column = first_; column < columns_.size(); ++column) {
        const Column& event = columns_[column];
        all.push_back({event.event, event.clock     ? "CPUs"
                                    : event.reading ? event.unit
                                                    : event.unit + "/s"});
    }
    for (std::size_t column = first_; column < columns_.size(); ++column) {
        if (const auto& ratio = metrics_.ratio_of(column))
            all.push_back({std::string(ratio->name),
                           (ratio->percent ? "% " : "") + std::string(ratio->unit)});
    }
    return all;
}

void Figures::fill(std::vector<Cell>& cells, const Counts& counts) const {
    cells.clear();
    for (std::size_t place = 0; place < counts.places(); ++place)
        add_row(cells, counts, place);
    add_row(cells, counts, std::nullopt);
}

void Figures::add_row(std::vector<Cell>& cells, const Counts& counts, Metrics::Row place) const {
    for (const std::size_t column : chosen_columns_)
        cells.push_back(
            cell(metrics_.of(counts, place, column), metrics_.poorest(counts, place, column)));
    for (std::size_t column = first_; column < columns_.size(); ++column) {
        const Count count = counts.sum(place, column);
        if (columns_[column].reading)
            cells.push_back(cell(counts.value(count, column), count));
        else
            cells.push_back(cell(metrics_.rate(counts, place, column), count));
    }
    for (std::size_t column = first_; column < columns_.size(); ++column) {
        if (metrics_.ratio_of(column))
            cells.push_back(cell(metrics_.ratio(counts, place, column),
                                 metrics_.poorest(counts, place, column)));
    }
}

LiveSource::LiveSource(const metagroup::MetaGroup::Options& options, AggrMode mode,
                       std::string method, const std::vector<MeasuredMetric>& metrics)
    : live_(metagroup::LiveGroup::open(options)),
      cpus_(live_.group().cpus()),
      rows_(mode, cpus_),
      members_(live_.group().members().begin(), live_.group().members().end()),
      counts_(std::make_shared<CountLayout>(live_.group().groups(), members_, rows_)),
      accumulator_(live_.group().members().size(), !options.cgroup.empty()),
      figures_(counts_.columns(), metrics),
      method_(std::move(method)) {
    begin();
}

// The members may have changed.
void LiveSource::begin() {
    lanes_ = counts_.layout().lanes_of(live_.group().members());
    accumulator_.restart(lanes_.size());
    accumulator_.add(counts_, live_.newest(), 0, lanes_);
}

std::chrono::nanoseconds LiveSource::restart(std::chrono::nanoseconds interval) {
    pause();
    live_.read();
    count_online();
    begin();
    interval_ = interval;
    stream_ = StreamedIntervals::start(
        live_.group(), method_, interval, live_.newest(),
        std::make_shared<CountLayout>(live_.group().groups(), live_.group().members(), rows_));
    return stream_ ? stream_->batch() : interval;
}

void LiveSource::pause() {
    if (stream_) overhead_.missed += stream_->stop();
    stream_.reset();
}

bool LiveSource::fold() {
    constexpr auto kModes = std::to_array({AggrMode::cpu, AggrMode::core, AggrMode::cache,
                                           AggrMode::die, AggrMode::socket, AggrMode::node});
    pause();
    const auto* mode = std::ranges::find(kModes, rows_.mode());
    for (bool found = false; !found;) {
        if (mode == kModes.end() || ++mode == kModes.end()) mode = kModes.begin();
        try {
            rows_ = Aggregation(*mode, cpus_);
            found = true;
        } catch (const std::system_error&) {
            // This machine does not describe such places. CPUs always work.
        }
    }
    counts_ = Counts(std::make_shared<CountLayout>(live_.group().groups(), members_, rows_));
    begin();
    return true;
}

const Update* LiveSource::sample() {
    const Counts* counts = count();
    if (counts != nullptr) figures_.fill(update_.cells, *counts);
    if (counts == nullptr || !stream_) follow_hotplug();
    return counts == nullptr ? nullptr : &update_;
}

// nullptr if a stream currently has no more intervals.
const Counts* LiveSource::count() {
    if (stream_) return stream_->next(overhead_);
    const std::uint64_t begin = live_.newest().begin_ns();
    live_.read();
    counts_.clear();
    accumulator_.add(counts_, live_.newest(), begin, lanes_);
    counts_.add_up(live_.newest().begin_ns() - begin);
    return &counts_;
}

void LiveSource::follow_hotplug() {
    if (stream_) live_.read();
    count_online();
    // A stream would keep the groups open that reopen() closes.
    const bool restarts = stream_ && live_.group().origin() == metagroup::EventOrigin::groups &&
                          !live_.offline().empty() &&
                          !live_.offline().intersect(metagroup::CpuList::online()).empty();
    if (restarts) pause();
    if (live_.reopen()) begin();
    if (restarts) restart(interval_);
}

void LiveSource::count_online() {
    update_.online.assign(rows_.places().size(), 0);
    const metagroup::CpuList offline = live_.offline();
    for (const int cpu : live_.group().cpus()) {
        if (offline.contains(cpu))
            update_.gaps.insert(cpu);
        else
            ++update_.online[rows_.index_of(cpu)];
    }
    // It may have been offline only between two sweeps.
    for (const metagroup::MemberDelta& member : live_.delta())
        if (member.reopened()) update_.gaps.insert(member.newer().cpu());
}

std::string LiveSource::name() const {
    return std::string(metagroup::to_string(live_.group().backend()));
}

std::string LiveSource::progress() const {
    if (stream_)
        return fmt::format("stream, skew {}",
                           with_unit(std::chrono::nanoseconds(overhead_.skew.quantile(0.5))));
    const metagroup::Snapshot& newest = live_.newest();
    return "sweep " + with_unit(std::chrono::nanoseconds(newest.end_ns() - newest.begin_ns()));
}

RecordingSource::RecordingSource(const Replay::Options& options, AggrMode mode,
                                 std::chrono::nanoseconds interval)
    : name_(options.file),
      replay_(options, mode, interval),
      figures_(replay_.analysis().columns()) {
    for (const Place& place : places())
        update_.online.push_back(place.cpus.size());
}

const Update* RecordingSource::sample() {
    while (ahead_.empty()) {
        if (ended_) return nullptr;
        ended_ = !replay_.analysis().step([this](double end, const Counts& counts) {
            ahead_.push_back({end, counts});
        });
    }
    now_ = ahead_.front().end;
    figures_.fill(update_.cells, ahead_.front().counts);
    ahead_.pop_front();
    return &update_;
}

std::string RecordingSource::progress() const {
    return fmt::format("{:.2f} of {:.2f} s", now_, replay_.seconds());
}

std::string RecordingSource::problem() const {
    return ended_ && ahead_.empty() ? "end of the recording; q quits" : "";
}

}  // namespace tool
