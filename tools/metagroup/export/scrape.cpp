// SPDX-License-Identifier: MIT
#include "export/scrape.hpp"

#include <prometheus/gauge.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <system_error>

#include "common/totals.hpp"

namespace tool {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

ClientMetric counter(Labels labels, double value) {
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.counter.value = value;
    return metric;
}

ClientMetric gauge(Labels labels, double value) {
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.gauge.value = value;
    return metric;
}

// An event that is twice in a group has the same count; its labels must be unique.
bool seen_before(const std::vector<Counters::Event>& events, std::size_t event) {
    return std::any_of(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(event),
                       [&](const auto& other) { return other.name == events[event].name; });
}

// Seconds: from the fastest sweep of few CPUs to far beyond the slowest of many.
const prometheus::Histogram::BucketBoundaries kTimes{5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4,
                                                     5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 1e-1};

double seconds(std::uint64_t ns) {
    return static_cast<double>(ns) / 1e9;
}

// Counts, times and CPUs in the base units of Prometheus.
std::vector<MetricFamily> families_of(const Counters& counters) {
    MetricFamily events{"metagroup_event_total",
                        "Count of the event; an estimate where it shared the PMU with others.",
                        MetricType::Counter,
                        {}};
    MetricFamily enabled{"metagroup_group_enabled_seconds_total",
                         "Time for which the group of events was enabled.",
                         MetricType::Counter,
                         {}};
    MetricFamily running{"metagroup_group_running_seconds_total",
                         "Time for which the group of events was on the PMU.",
                         MetricType::Counter,
                         {}};
    for (const Counters::Member& member : counters.members()) {
        const Labels labels{{"cpu", std::to_string(member.cpu)},
                            {"group", std::to_string(member.group)}};
        enabled.metric.push_back(counter(labels, member.enabled));
        running.metric.push_back(counter(labels, member.running));
        const auto& group = counters.groups()[member.group];
        for (std::size_t event = 0; event < group.size(); ++event) {
            if (seen_before(group, event)) continue;
            Labels about = labels;
            about.push_back({"event", group[event].name});
            if (!group[event].unit.empty()) about.push_back({"unit", group[event].unit});
            events.metric.push_back(counter(std::move(about), member.values[event]));
        }
    }
    MetricFamily online{"metagroup_cpu_online",
                        "1 if the CPU is counted, 0 if it is offline.",
                        MetricType::Gauge,
                        {}};
    const metagroup::CpuList offline = counters.live().offline();
    for (const int cpu : counters.cpus())
        online.metric.push_back(
            gauge({{"cpu", std::to_string(cpu)}}, offline.contains(cpu) ? 0 : 1));
    std::vector<MetricFamily> all;
    for (MetricFamily* family : {&events, &enabled, &running, &online})
        all.push_back(std::move(*family));
    return all;
}

prometheus::Counter& add_counter(prometheus::Registry& registry, const char* name,
                                 const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Histogram& add_times(prometheus::Registry& registry, const char* name,
                                 const char* help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, kTimes);
}

void add_info(prometheus::Registry& registry, const char* name, const char* help,
              const prometheus::Labels& labels) {
    prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add(labels).Set(1);
}

}  // namespace

Counters::Counters(metagroup::MetaGroup::Options options)
    : live_(metagroup::LiveGroup::open(std::move(options))) {
    for (const metagroup::GroupSpec& spec : live_.group().groups()) {
        std::vector<Event>& events = groups_.emplace_back();
        for (const metagroup::EventSpec& event : spec.events) {
            if (is_clock(event.name))
                events.push_back({event.name, "seconds", 1e-9});
            else
                events.push_back({event.name, event.unit, event.scale});
        }
    }
    find_members();
}

// Members that were known before keep their counts when the group was opened again.
void Counters::find_members() {
    targets_.clear();
    for (const auto& member : live_.group().members()) {
        const auto [place, added] =
            places_.try_emplace({member.cpu, member.group}, members_.size());
        if (added)
            members_.push_back({member.cpu, member.group, 0, 0,
                                std::vector<double>(groups_[member.group].size())});
        targets_.push_back(place->second);
    }
}

void Counters::sweep() {
    live_.read();
    const metagroup::Delta delta = live_.delta();
    for (std::size_t i = 0; i < delta.size(); ++i) {
        const metagroup::MemberDelta since = delta[i];
        Member& member = members_[targets_[i]];
        member.enabled += static_cast<double>(since.time_enabled().value_or(0)) / 1e9;
        member.running += static_cast<double>(since.time_running().value_or(0)) / 1e9;
        const std::vector<Event>& events = groups_[member.group];
        for (std::size_t event = 0; event < events.size(); ++event)
            member.values[event] += since.scaled(event).value_or(0) * events[event].scale;
    }
    if (live_.reopen()) find_members();
}

Scrape::Scrape(metagroup::MetaGroup::Options options, const std::string& version)
    : counters_(std::move(options)),
      backend_(metagroup::to_string(counters_.live().group().backend())),
      sweeps_(add_counter(registry_, "metagroup_sweeps_total",
                          "Successful sweeps, one for each scrape.")),
      failures_(add_counter(registry_, "metagroup_sweep_failures_total",
                            "Failed sweeps, whose scrapes repeat the counts of the last one.")),
      duration_(add_times(registry_, "metagroup_sweep_duration_seconds",
                          "Duration of a sweep over all CPUs.")),
      skew_(add_times(registry_, "metagroup_sweep_skew_seconds",
                      "Newest minus oldest record in a sweep.")),
      cpu_seconds_(
          add_counter(registry_, "process_cpu_seconds_total", "CPU time used by this program.")) {
    add_info(registry_, "metagroup_backend_info", "The backend that reads the counters.",
             {{"backend", backend_},
              {"origin", std::string(to_string(counters_.live().group().origin()))}});
    add_info(registry_, "metagroup_build_info", "The program.", {{"version", version}});
}

std::vector<MetricFamily> Scrape::Collect() const {
    const std::lock_guard lock(mutex_);
    try {
        counters_.sweep();
        const metagroup::Snapshot& newest = counters_.live().newest();
        sweeps_.Increment();
        duration_.Observe(seconds(newest.end_ns() - newest.begin_ns()));
        skew_.Observe(seconds(newest.skew_ns()));
    } catch (const std::system_error& error) {
        std::fprintf(stderr, "metagroup: %s\n", error.what());
        failures_.Increment();
    }
    cpu_seconds_.Increment(seconds(static_cast<std::uint64_t>(cpu_time().count())) -
                           cpu_seconds_.Value());
    std::vector<MetricFamily> all = families_of(counters_);
    std::ranges::move(registry_.Collect(), std::back_inserter(all));
    return all;
}

std::uint64_t Scrape::scrapes() const {
    return static_cast<std::uint64_t>(sweeps_.Value() + failures_.Value());
}

}  // namespace tool
