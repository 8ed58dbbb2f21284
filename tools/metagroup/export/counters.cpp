// SPDX-License-Identifier: MIT
#include "export/counters.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstring>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace tool {
namespace {

struct KnownUnit {
    std::string_view unit, base;
    double factor;
};

constexpr auto kBaseUnits = std::to_array<KnownUnit>({
    {"ns", "seconds", 1e-9},
    {"us", "seconds", 1e-6},
    {"ms", "seconds", 1e-3},
    {"s", "seconds", 1},
    {"Joules", "joules", 1},
    {"Bytes", "bytes", 1},
    {"B", "bytes", 1},
    {"KiB", "bytes", 1024},
    {"MiB", "bytes", 1024.0 * 1024},
    {"GiB", "bytes", 1024.0 * 1024 * 1024},
    {"KB", "bytes", 1e3},
    {"MB", "bytes", 1e6},
    {"GB", "bytes", 1e9},
});

// Makes a unit valid as part of a metric name.
char part_of_name(unsigned char letter) {
    return std::isalnum(letter) != 0 ? static_cast<char>(std::tolower(letter)) : '_';
}

bool is_utf8(const std::string& text) {
    try {
        static_cast<void>(nlohmann::json(text).dump());
        return true;
    } catch (const nlohmann::json::exception&) {
        return false;
    }
}

State state_of(const Counter& before, const Counter& now, bool read) {
    if (!read) return State::unread;
    if (now.known_ns() > before.known_ns()) return State::counted;
    if (now.count.running > before.count.running) return State::lost;
    return now.count.known() ? State::waiting : State::never;
}

}  // namespace

BaseUnit base_unit(std::string_view unit) {
    const auto found = std::ranges::find(kBaseUnits, unit, &KnownUnit::unit);
    if (found != kBaseUnits.end()) return {std::string(found->base), found->factor};
    std::string name(unit);
    std::ranges::transform(name, name.begin(), part_of_name);
    return {std::move(name)};
}

Counters::Counters(metagroup::MetaGroup::Options options)
    : live_(metagroup::LiveGroup::open(options)),
      counts_(std::make_shared<CountLayout>(live_.group().groups(), live_.group().members(),
                                            Aggregation(AggrMode::all, live_.group().cpus()),
                                            false)),
      accumulator_(live_.group().members().size(), !options.cgroup.empty()) {
    std::map<std::string, perf_event_attr> known;
    for (const metagroup::GroupSpec& group : live_.group().groups()) {
        for (const metagroup::EventSpec& spec : group.events) {
            if (!is_utf8(spec.name))
                throw std::invalid_argument(
                    fmt::format("the name of event \"{}\" is not UTF-8, as Prometheus requires; "
                                "rename it with name=",
                                spec.name));
            const auto [other, added] = known.try_emplace(spec.name, spec.attr);
            if (!added && std::memcmp(&other->second, &spec.attr, sizeof spec.attr) != 0)
                throw std::invalid_argument(fmt::format(
                    "two different events have the name \"{}\"; rename one of them with name=",
                    spec.name));
            columns_.push_back(added ? add_event(spec) : nullptr);
        }
    }
    lanes_ = counts_.layout().lanes_of(live_.group().members());
    accumulator_.add(counts_, live_.newest(), 0, lanes_);
    take_counts(counts_, std::vector<bool>(counts_.layout().lanes().size(), true));
}

Counters::Event* Counters::add_event(const metagroup::EventSpec& spec) {
    const BaseUnit unit = base_unit(metagroup::is_clock(spec.attr) ? "ns" : spec.unit);
    return &events_
                .try_emplace(spec.merged.empty() ? spec.name : spec.merged,
                             Event{unit.name, spec.scale * unit.factor, spec.reading})
                .first->second;
}

void Counters::take_counts(const Counts& before, const std::vector<bool>& read) {
    for (auto& [name, event] : events_)
        event.counters.clear();
    const metagroup::CpuList offline = live_.offline();
    const auto& lanes = counts_.layout().lanes();
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
        const int cpu = lanes[lane].cpu;
        for (std::size_t i = 0; i < lanes[lane].events; ++i) {
            Event* const event = columns_[lanes[lane].column + i];
            if (event == nullptr) continue;
            Counter counter{counts_.counter(lane, i)};
            const State state = offline.contains(cpu)
                                    ? State::offline
                                    : state_of({before.counter(lane, i)}, counter, read[lane]);
            counter.states[static_cast<std::size_t>(state)] = 1;
            event->counters[cpu].add(counter);
        }
    }
}

// Known members keep their counts when the groups are reopened.
void Counters::sweep() {
    const Counts before = counts_;
    std::vector<bool> read(counts_.layout().lanes().size());
    try {
        live_.read();
    } catch (...) {
        take_counts(before, read);
        throw;
    }
    std::size_t member = 0;
    for (const metagroup::MemberView& record : live_.newest()) {
        read[lanes_[member++]] = record.nr() > 0;
        if (record.nr() == 0) ++unread_;
    }
    accumulator_.add(counts_, live_.newest(), 0, lanes_);
    take_counts(before, read);
    if (!live_.reopen()) return;
    lanes_ = counts_.layout().lanes_of(live_.group().members());
    accumulator_.restart(lanes_.size());
    accumulator_.add(counts_, live_.newest(), 0, lanes_);
}

}  // namespace tool
