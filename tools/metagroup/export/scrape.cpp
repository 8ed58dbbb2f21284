// SPDX-License-Identifier: MIT
#include "export/scrape.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "common/totals.hpp"

namespace tool {
namespace {

using Type = Exposition::Type;
using Events = std::map<std::string, Counters::Event>;

// No value if the event was not counted yet. Estimates are rounded, so that a count that becomes
// one does not go back.
std::optional<Number> value_of(const Counters::Event& event, const Count& count) {
    if (!count.known()) return std::nullopt;
    std::uint64_t whole = count.count;
    const bool fits =
        std::abs(count.estimate) < 0x1p62 &&
        !__builtin_add_overflow(whole, static_cast<std::int64_t>(count.estimate), &whole);
    if (fits && !event.reading && event.factor == 1) return Number(whole);
    if (fits && !event.reading && event.factor == 1e-9) return Number::seconds_of(whole);
    const double value = event.value(count);
    return std::isfinite(value) ? std::optional<Number>(value) : std::nullopt;
}

void begin_family(Exposition& page, const std::string& unit, bool reading) {
    constexpr std::string_view estimate = "; an estimate if it was multiplexed.";
    if (reading)
        page.begin("metagroup_reading" + (unit.empty() ? "" : "_" + unit), Type::gauge,
                   "Value of the event; the mean for several CPUs.");
    else if (unit.empty())
        page.begin("metagroup_events_total", Type::counter,
                   "Occurrences of the event" + std::string(estimate));
    else
        page.begin("metagroup_event_" + unit + "_total", Type::counter,
                   "Count of the event in " + unit + std::string(estimate));
}

LabelSet labels_of(const std::string& event, const LabelSet& place) {
    LabelSet labels{{"event", event}};
    std::ranges::copy(place, std::back_inserter(labels));
    return labels;
}

// By set of labels.
std::map<std::size_t, Counter> sums_of(const Counters::Event& event, const Labels& labels) {
    std::map<std::size_t, Counter> sums;
    for (const auto& [cpu, counter] : event.counters)
        sums[labels.index_of(cpu)].add(counter);
    return sums;
}

template <typename Time>
void add_seconds(Exposition& page, const char* name, const char* help, const Events& events,
                 Time ns_of) {
    page.begin(name, Type::counter, help);
    for (const auto& [name_of_event, event] : events) {
        std::uint64_t ns = 0;
        for (const auto& [cpu, counter] : event.counters)
            ns += std::invoke(ns_of, counter);
        page.add(Number::seconds_of(ns), {{"event", name_of_event}});
    }
}

void add_states(Exposition& page, const Events& events, const Labels& sums) {
    page.begin("metagroup_event_counters", Type::gauge,
               "Counters of the event, one per CPU, by what is known about the time since the "
               "previous scrape.");
    for (const auto& [name, event] : events) {
        for (const auto& [index, counter] : sums_of(event, sums)) {
            LabelSet labels = labels_of(name, sums.sets()[index]);
            labels.emplace_back("state", "");
            for (std::size_t i = 0; i < kStates.size(); ++i) {
                labels.back().second = kStates[i];
                page.add(std::uint64_t{counter.states[i]}, labels);
            }
        }
    }
}

std::vector<std::string> without_cpu(std::vector<std::string> labels) {
    std::erase(labels, "cpu");
    return labels;
}

}  // namespace

void add_events(Exposition& page, const Events& events, const Labels& labels, const Labels& sums) {
    struct Sample {
        LabelSet labels;
        Number value;
    };
    std::map<std::pair<bool, std::string>, std::vector<Sample>> families;  // readings, unit
    for (const auto& [name, event] : events) {
        for (const auto& [index, counter] : sums_of(event, labels))
            if (auto value = value_of(event, counter.count))
                families[{event.reading, event.unit}].push_back(
                    {labels_of(name, labels.sets()[index]), *std::move(value)});
    }
    for (const auto& [about, samples] : families) {
        begin_family(page, about.second, about.first);
        for (const Sample& sample : samples)
            page.add(sample.value, sample.labels);
    }
    add_seconds(page, "metagroup_event_enabled_seconds_total",
                "Time for which the event was enabled, summed over CPUs.", events,
                [](const Counter& counter) { return counter.count.enabled; });
    add_seconds(page, "metagroup_event_running_seconds_total",
                "Time for which the event was on the PMU, summed over CPUs.", events,
                [](const Counter& counter) { return counter.count.running; });
    add_seconds(page, "metagroup_event_known_seconds_total",
                "Time for which a CPU was online and its count is known, summed over CPUs.", events,
                &Counter::known_ns);
    add_states(page, events, sums);
}

Scrape::Scrape(metagroup::MetaGroup::Options options, const std::vector<std::string>& labels,
               std::string version)
    : counters_(std::move(options)),
      cpus_(counters_.live().group().cpus()),
      late_(cpus_),
      labels_(labels, cpus_),
      sums_(without_cpu(labels), cpus_),
      backend_(metagroup::to_string(counters_.live().group().backend())),
      version_(std::move(version)) {}

std::string Scrape::page(Format format) {
    const std::lock_guard lock(mutex_);
    sweep();
    Exposition page(format);
    add_events(page, counters_.events(), labels_, sums_);
    add_online(page);
    add_exporter(page);
    return std::move(page).finish();
}

void Scrape::sweep() {
    try {
        counters_.sweep();
        const metagroup::Snapshot& newest = counters_.live().newest();
        ++sweeps_;
        duration_.add(newest.end_ns() - newest.begin_ns());
        skew_.add(newest.skew_ns());
        if (std::string late = late_.message(); late != said_) {
            if (!late.empty()) std::fprintf(stderr, "metagroup: %s\n", late.c_str());
            said_ = std::move(late);
        }
    } catch (const std::system_error& error) {
        std::fprintf(stderr, "metagroup: %s\n", error.what());
        ++failures_;
    }
}

void Scrape::add_online(Exposition& page) const {
    std::vector<std::uint64_t> online(labels_.sets().size());
    const metagroup::CpuList offline = counters_.live().offline();
    for (const int cpu : cpus_)
        online[labels_.index_of(cpu)] += offline.contains(cpu) ? 0 : 1;
    page.begin("metagroup_cpus_online", Type::gauge, "Counted CPUs that are online.");
    for (std::size_t i = 0; i < online.size(); ++i)
        page.add(online[i], labels_.sets()[i]);
    page.begin("metagroup_cpus_uncounted", Type::gauge,
               "CPUs that came online after the start and are not counted.");
    page.add(std::uint64_t{late_.among().size()});
}

void Scrape::add_exporter(Exposition& page) const {
    page.begin("metagroup_sweeps_total", Type::counter, "Successful sweeps, one per scrape.");
    page.add(sweeps_);
    page.begin("metagroup_sweep_failures_total", Type::counter,
               "Failed sweeps; their scrapes repeat the previous counts.");
    page.add(failures_);
    page.begin("metagroup_unread_total", Type::counter,
               "Records that could not be read; later records include their counts.");
    page.add(counters_.unread());
    page.begin("metagroup_sweep_duration_seconds", Type::histogram,
               "Duration of a sweep over all CPUs.");
    page.add(duration_);
    page.begin("metagroup_sweep_skew_seconds", Type::histogram,
               "Newest minus oldest record in a sweep.");
    page.add(skew_);
    page.begin("process_cpu_seconds_total", Type::counter, "CPU time used by this program.");
    page.add(Number::seconds_of(static_cast<std::uint64_t>(cpu_time().count())));
    page.begin("process_start_time_seconds", Type::gauge,
               "When counting began, in seconds since the Unix epoch.");
    page.add(Number::seconds_of(
        static_cast<std::uint64_t>(std::chrono::nanoseconds(start_.time_since_epoch()).count())));
    page.begin("metagroup_backend_info", Type::gauge, "The backend that reads the counters.");
    page.add(std::uint64_t{1},
             {{"backend", backend_},
              {"origin", std::string(to_string(counters_.live().group().origin()))}});
    page.begin("metagroup_build_info", Type::gauge, "The program.");
    page.add(std::uint64_t{1}, {{"version", version_}});
}

std::size_t Scrape::series() const {
    constexpr std::size_t of_times = 3;
    return counters_.events().size() *
           (labels_.sets().size() + of_times + kStates.size() * sums_.sets().size());
}

}  // namespace tool
