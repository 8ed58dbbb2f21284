// SPDX-License-Identifier: MIT
#include "top/sampler.hpp"

#include <optional>
#include <string>

namespace tool {
namespace {

// Less coverage marks an estimate: perf stat shows two digits of the percentage.
constexpr double kWholeTime = 0.99995;

Cell cell(const std::optional<Metric>& metric, const Count& count) {
    if (!metric) return {};
    return {metric->value, count.coverage() < kWholeTime};
}

}  // namespace

Sampler::Sampler(const metagroup::MetaGroup::Options& options, AggrMode mode)
    : cpus_(options.cpus.value()),
      live_(metagroup::LiveGroup::open(options)),
      rows_(mode, cpus_),
      everywhere_(AggrMode::all, cpus_),
      totals_(live_.group(), rows_),
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

const Update& Sampler::sample() {
    live_.read();
    totals_.clear();
    total_.clear();
    totals_.add(live_.delta());
    total_.add(live_.delta());
    update_.cells.clear();
    for (std::size_t place = 0; place < rows_.places().size(); ++place)
        add_row(totals_, place);
    add_row(total_, 0);
    count_online();
    if (live_.reopen()) {
        totals_ = Totals(live_.group(), rows_);
        total_ = Totals(live_.group(), everywhere_);
    }
    return update_;
}

void Sampler::add_row(const Totals& totals, std::size_t place) {
    for (std::size_t column = 0; column < totals.columns().size(); ++column)
        update_.cells.push_back(
            cell(metrics_.rate(totals, place, column), totals.at(place, column)));
    for (std::size_t column = 0; column < totals.columns().size(); ++column) {
        if (metrics_.ratio_of(column))
            update_.cells.push_back(
                cell(metrics_.ratio(totals, place, column), totals.at(place, column)));
    }
}

void Sampler::count_online() {
    update_.online.assign(rows_.places().size(), 0);
    const metagroup::CpuList offline = live_.offline();
    for (const int cpu : cpus_) {
        if (!offline.contains(cpu)) ++update_.online[rows_.index_of(cpu)];
    }
}

}  // namespace tool
