// SPDX-License-Identifier: MIT
#include "top/sampler.hpp"

#include <optional>
#include <string>

namespace tool {
namespace {

// What is worth a mark: perf stat shows two digits of the part that was counted.
constexpr double kWholeTime = 0.99995;

Cell cell(const std::optional<Metric>& metric, const Count& count) {
    if (!metric) return {};
    return {metric->value, count.coverage() < kWholeTime};
}

}  // namespace

Sampler::Sampler(const metagroup::MetaGroup::Options& what, By by)
    : cpus_(what.cpus),
      live_(what),
      places_(by, cpus_),
      everywhere_(By::all, cpus_),
      totals_(live_.group(), places_),
      total_(live_.group(), everywhere_),
      metrics_(totals_.columns()) {}

std::vector<Series> Sampler::series() const {
    std::vector<Series> all;
    for (const Column& column : totals_.columns())
        all.push_back({column.event, is_clock(column.event) ? "CPUs" : column.unit + "/s"});
    for (std::size_t column = 0; column < totals_.columns().size(); ++column) {
        if (const auto& ratio = metrics_.ratio_of(column))
            all.push_back({std::string(ratio->name),
                           (ratio->percent ? "% " : "") + std::string(ratio->unit)});
    }
    return all;
}

const Frame& Sampler::sample() {
    live_.read();
    totals_.clear();
    total_.clear();
    totals_.add(live_.delta());
    total_.add(live_.delta());
    frame_.cells.clear();
    for (std::size_t place = 0; place < places_.all().size(); ++place)
        add_row(totals_, place);
    add_row(total_, 0);
    count_online();
    if (live_.revive()) {
        totals_ = Totals(live_.group(), places_);
        total_ = Totals(live_.group(), everywhere_);
    }
    return frame_;
}

void Sampler::add_row(const Totals& totals, std::size_t place) {
    for (std::size_t column = 0; column < totals.columns().size(); ++column)
        frame_.cells.push_back(
            cell(metrics_.rate(totals, place, column), totals.at(place, column)));
    for (std::size_t column = 0; column < totals.columns().size(); ++column) {
        if (metrics_.ratio_of(column))
            frame_.cells.push_back(
                cell(metrics_.ratio(totals, place, column), totals.at(place, column)));
    }
}

void Sampler::count_online() {
    frame_.online.assign(places_.all().size(), 0);
    for (const int cpu : cpus_) {
        if (!live_.offline(cpu)) ++frame_.online[places_.index_of(cpu)];
    }
}

}  // namespace tool
