// SPDX-License-Identifier: MIT
#include "export/families.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

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

// Labels must differ; the same event twice in a group counts the same.
bool seen_before(const std::vector<Counters::Event>& events, std::size_t event) {
    return std::any_of(events.begin(), events.begin() + static_cast<std::ptrdiff_t>(event),
                       [&](const auto& other) { return other.name == events[event].name; });
}

}  // namespace

std::vector<MetricFamily> families_of(const Counters& counters) {
    MetricFamily events{"metagroup_event_total",
                        "What was counted, estimated where the event shared the PMU with others.",
                        MetricType::Counter,
                        {}};
    MetricFamily enabled{"metagroup_group_enabled_seconds_total",
                         "Time for which the group of events was to be counted.",
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
                        "Whether the CPU is counted: 1, or 0 if it is offline.",
                        MetricType::Gauge,
                        {}};
    for (const int cpu : counters.cpus())
        online.metric.push_back(
            gauge({{"cpu", std::to_string(cpu)}}, counters.live().offline(cpu) ? 0 : 1));
    std::vector<MetricFamily> all;
    for (MetricFamily* family : {&events, &enabled, &running, &online})
        all.push_back(std::move(*family));
    return all;
}

}  // namespace tool
