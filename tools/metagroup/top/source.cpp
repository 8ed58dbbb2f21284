// SPDX-License-Identifier: MIT
#include "top/source.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "common/text.hpp"

namespace tool {
namespace {

// Less coverage marks an estimate: perf stat shows two digits of the percentage.
constexpr double kWholeTime = 0.99995;

Cell cell(const std::optional<Metric>& metric, const Count& count) {
    if (!metric) return {};
    return {metric->value, count.coverage() < kWholeTime};
}

}  // namespace

Figures::Figures(std::vector<Column> columns)
    : columns_(std::move(columns)), metrics_(columns_), total_(columns_, Aggregation::one()) {}

std::vector<Series> Figures::series() const {
    std::vector<Series> all;
    for (const Column& column : columns_)
        all.push_back({column.event, is_clock(column.event) ? "CPUs" : column.unit + "/s"});
    for (std::size_t column = 0; column < columns_.size(); ++column) {
        if (const auto& ratio = metrics_.ratio_of(column))
            all.push_back({std::string(ratio->name),
                           (ratio->percent ? "% " : "") + std::string(ratio->unit)});
    }
    return all;
}

void Figures::fill(std::vector<Cell>& cells, const Totals& totals) {
    cells.clear();
    for (std::size_t place = 0; place < totals.places(); ++place)
        add_row(cells, totals, place);
    total_.clear();
    total_.add_all(totals);
    add_row(cells, total_, 0);
}

void Figures::add_row(std::vector<Cell>& cells, const Totals& totals, std::size_t place) const {
    for (std::size_t column = 0; column < columns_.size(); ++column)
        cells.push_back(cell(metrics_.rate(totals, place, column), totals.at(place, column)));
    for (std::size_t column = 0; column < columns_.size(); ++column) {
        if (metrics_.ratio_of(column))
            cells.push_back(cell(metrics_.ratio(totals, place, column), totals.at(place, column)));
    }
}

Sampler::Sampler(const metagroup::MetaGroup::Options& options, AggrMode mode)
    : cpus_(options.cpus.value()),
      live_(metagroup::LiveGroup::open(options)),
      rows_(mode, cpus_),
      totals_(live_.group(), rows_),
      figures_(totals_.columns()) {}

const Update* Sampler::sample() {
    live_.read();
    totals_.clear();
    totals_.add(live_.delta());
    figures_.fill(update_.cells, totals_);
    count_online();
    if (live_.reopen()) totals_ = Totals(live_.group(), rows_);
    return &update_;
}

void Sampler::count_online() {
    update_.online.assign(rows_.places().size(), 0);
    const metagroup::CpuList offline = live_.offline();
    for (const int cpu : cpus_) {
        if (!offline.contains(cpu)) ++update_.online[rows_.index_of(cpu)];
    }
}

std::string Sampler::name() const {
    return std::string(metagroup::to_string(live_.group().backend()));
}

std::string Sampler::progress() const {
    const metagroup::Snapshot& newest = live_.newest();
    return "sweep " + with_unit(std::chrono::nanoseconds(newest.end_ns() - newest.begin_ns()));
}

Player::Player(const Replay::Options& options, AggrMode mode, std::chrono::nanoseconds interval)
    : name_(options.file),
      replay_(options, mode, interval),
      figures_(replay_.analysis().columns()) {
    for (const Place& place : places())
        update_.online.push_back(place.cpus);
}

const Update* Player::sample() {
    while (ahead_.empty()) {
        if (ended_) return nullptr;
        ended_ = !replay_.analysis().step([this](double end, const Totals& totals) {
            ahead_.push_back({end, totals});
        });
    }
    now_ = ahead_.front().end;
    figures_.fill(update_.cells, ahead_.front().totals);
    ahead_.pop_front();
    return &update_;
}

std::string Player::progress() const {
    return fmt::format("{:.2f} of {:.2f} s", now_, replay_.seconds());
}

std::string Player::problem() const {
    return ended_ && ahead_.empty() ? "end of the recording; q quits" : "";
}

}  // namespace tool
