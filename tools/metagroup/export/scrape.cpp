// SPDX-License-Identifier: MIT
#include "export/scrape.hpp"

#include <prometheus/gauge.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "common/totals.hpp"

namespace tool {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

ClientMetric counter(Labels::Set labels, double value) {
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.counter.value = value;
    return metric;
}

ClientMetric gauge(Labels::Set labels, double value) {
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.gauge.value = value;
    return metric;
}

// Seconds, from the fastest sweep of a few CPUs to far beyond the slowest of many.
const prometheus::Histogram::BucketBoundaries kTimes{5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4,
                                                     5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 1e-1};

double seconds(std::uint64_t ns) {
    return static_cast<double>(ns) / 1e9;
}

MetricFamily family_of(const Counters::Event& event) {
    if (event.reading)
        return {"metagroup_reading" + (event.unit.empty() ? "" : "_" + event.unit),
                "Value of the event; the mean for several CPUs.",
                MetricType::Gauge,
                {}};
    if (event.unit.empty())
        return {"metagroup_events_total",
                "Occurrences of the event; an estimate if it was multiplexed.",
                MetricType::Counter,
                {}};
    return {"metagroup_event_" + event.unit + "_total",
            "Count of the event in " + event.unit + "; an estimate if it was multiplexed.",
            MetricType::Counter,
            {}};
}

// One family per unit, then times. Counters that have not counted yet have no value, rather than 0.
std::vector<MetricFamily> families_of(const Counters& counters, const Labels& labels) {
    std::map<std::string, MetricFamily> units;
    MetricFamily enabled{"metagroup_event_enabled_seconds_total",
                         "Time for which the event was enabled, summed over CPUs.",
                         MetricType::Counter,
                         {}};
    MetricFamily running{"metagroup_event_running_seconds_total",
                         "Time for which the event was on the PMU, summed over CPUs.",
                         MetricType::Counter,
                         {}};
    MetricFamily missing{"metagroup_event_counters_missing",
                         "Counters of the event, one per CPU, that have not counted yet.",
                         MetricType::Gauge,
                         {}};
    for (const auto& [name, event] : counters.events()) {
        std::map<std::size_t, Count> sums;  // by set of labels
        Count all;
        for (const auto& [cpu, count] : event.counts) {
            sums[labels.index_of(cpu)].add(count);
            all.add(count);
        }
        MetricFamily family = family_of(event);
        auto& metrics = units.try_emplace(family.name, std::move(family)).first->second.metric;
        for (const auto& [index, count] : sums) {
            const double value = event.value(count);
            if (!count.known() || !std::isfinite(value)) continue;
            Labels::Set about{{"event", name}};
            std::ranges::copy(labels.sets()[index], std::back_inserter(about));
            metrics.push_back(event.reading ? gauge(std::move(about), value)
                                            : counter(std::move(about), value));
        }
        enabled.metric.push_back(counter({{"event", name}}, seconds(all.enabled)));
        running.metric.push_back(counter({{"event", name}}, seconds(all.running)));
        missing.metric.push_back(gauge({{"event", name}}, all.counters - all.counted));
    }
    std::vector<MetricFamily> families;
    families.reserve(units.size() + 3);
    for (auto& [name, family] : units)
        if (!family.metric.empty()) families.push_back(std::move(family));
    for (MetricFamily* family : {&enabled, &running, &missing})
        families.push_back(std::move(*family));
    return families;
}

MetricFamily online_cpus(const Labels& labels, const metagroup::CpuList& cpus,
                         const metagroup::CpuList& offline) {
    MetricFamily family{
        "metagroup_cpus_online", "Counted CPUs that are online.", MetricType::Gauge, {}};
    std::vector<double> online(labels.sets().size());
    for (const int cpu : cpus)
        online[labels.index_of(cpu)] += offline.contains(cpu) ? 0 : 1;
    for (std::size_t i = 0; i < online.size(); ++i)
        family.metric.push_back(gauge(labels.sets()[i], online[i]));
    return family;
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

// Counter families lack the suffix that their samples have.
std::string to_open_metrics(const std::string& text) {
    constexpr std::string_view kSuffix = "_total";
    std::istringstream lines(text);
    std::string converted;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("# ")) {
            const std::size_t end = line.find(' ', line.find(' ', 2) + 1);  // end of the name
            if (std::string_view(line).substr(0, end).ends_with(kSuffix))
                line.erase(end - kSuffix.size(), kSuffix.size());
        }
        converted += line + '\n';
    }
    return converted + "# EOF\n";
}

Scrape::Scrape(metagroup::MetaGroup::Options options, const std::vector<std::string>& labels,
               const std::string& version)
    : counters_(std::move(options)),
      cpus_(counters_.live().group().cpus()),
      late_(cpus_),
      labels_(labels, cpus_),
      backend_(metagroup::to_string(counters_.live().group().backend())),
      sweeps_(
          add_counter(registry_, "metagroup_sweeps_total", "Successful sweeps, one per scrape.")),
      failures_(add_counter(registry_, "metagroup_sweep_failures_total",
                            "Failed sweeps; their scrapes repeat the previous counts.")),
      unread_(add_counter(registry_, "metagroup_unread_total",
                          "Records that could not be read; later records include their counts.")),
      duration_(add_times(registry_, "metagroup_sweep_duration_seconds",
                          "Duration of a sweep over all CPUs.")),
      skew_(add_times(registry_, "metagroup_sweep_skew_seconds",
                      "Newest minus oldest record in a sweep.")),
      cpu_seconds_(
          add_counter(registry_, "process_cpu_seconds_total", "CPU time used by this program.")),
      uncounted_(prometheus::BuildGauge()
                     .Name("metagroup_cpus_uncounted")
                     .Help("CPUs that came online after the start and are not counted.")
                     .Register(registry_)
                     .Add({})) {
    add_info(registry_, "metagroup_backend_info", "The backend that reads the counters.",
             {{"backend", backend_},
              {"origin", std::string(to_string(counters_.live().group().origin()))}});
    add_info(registry_, "metagroup_build_info", "The program.", {{"version", version}});
}

std::string Scrape::page(Format format) {
    std::vector<MetricFamily> families;
    {
        const std::lock_guard lock(mutex_);
        try {
            counters_.sweep();
            const metagroup::Snapshot& newest = counters_.live().newest();
            sweeps_.Increment();
            duration_.Observe(seconds(newest.end_ns() - newest.begin_ns()));
            skew_.Observe(seconds(newest.skew_ns()));
            uncounted_.Set(static_cast<double>(late_.among().size()));
            if (std::string late = late_.message(); late != said_) {
                if (!late.empty()) std::fprintf(stderr, "metagroup: %s\n", late.c_str());
                said_ = std::move(late);
            }
        } catch (const std::system_error& error) {
            std::fprintf(stderr, "metagroup: %s\n", error.what());
            failures_.Increment();
        }
        unread_.Increment(static_cast<double>(counters_.unread()) - unread_.Value());
        cpu_seconds_.Increment(seconds(static_cast<std::uint64_t>(cpu_time().count())) -
                               cpu_seconds_.Value());
        families = families_of(counters_, labels_);
        families.push_back(online_cpus(labels_, cpus_, counters_.live().offline()));
        std::ranges::move(registry_.Collect(), std::back_inserter(families));
    }
    std::string text = prometheus::TextSerializer().Serialize(families);
    return format == Format::text ? text : to_open_metrics(text);
}

std::size_t Scrape::series() const {
    constexpr std::size_t of_times = 3;
    return counters_.events().size() * (labels_.sets().size() + of_times);
}

std::uint64_t Scrape::scrapes() const {
    return static_cast<std::uint64_t>(sweeps_.Value() + failures_.Value());
}

}  // namespace tool
