// SPDX-License-Identifier: MIT
#include "export/counters.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstring>
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

// As part of the name of a metric.
char part_of_name(unsigned char letter) {
    return std::isalnum(letter) != 0 ? static_cast<char>(std::tolower(letter)) : '_';
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
    : live_(metagroup::LiveGroup::open(std::move(options))) {
    std::map<std::string, perf_event_attr> known;
    for (const metagroup::GroupSpec& group : live_.group().groups()) {
        std::vector<Event*>& columns = columns_.emplace_back();
        for (const metagroup::EventSpec& spec : group.events) {
            const auto [other, added] = known.try_emplace(spec.name, spec.attr);
            if (!added && std::memcmp(&other->second, &spec.attr, sizeof spec.attr) != 0)
                throw std::invalid_argument(
                    fmt::format("two different events have the name \"{}\"; give one of them "
                                "another, by name=",
                                spec.name));
            columns.push_back(added ? &add_event(spec) : nullptr);
        }
    }
    find_members();
}

Counters::Event& Counters::add_event(const metagroup::EventSpec& spec) {
    const BaseUnit unit = base_unit(is_clock(spec.name) ? "ns" : spec.unit);
    return events_
        .try_emplace(spec.merged.empty() ? spec.name : spec.merged,
                     Event{unit.name, spec.scale * unit.factor})
        .first->second;
}

// Members that were known before keep their counts when the group was opened again.
void Counters::find_members() {
    targets_.clear();
    for (const auto& member : live_.group().members()) {
        std::vector<Count*>& targets = targets_.emplace_back();
        for (Event* const event : columns_[member.group])
            targets.push_back(event == nullptr ? nullptr : &event->counts[member.cpu]);
    }
}

void Counters::sweep() {
    live_.read();
    const metagroup::Delta delta = live_.delta();
    const auto members = live_.group().members();
    for (std::size_t i = 0; i < delta.size(); ++i) {
        const metagroup::MemberDelta since = delta[i];
        const auto enabled = since.time_enabled();
        const auto running = since.time_running();
        if (!enabled || !running) continue;
        const std::vector<Event*>& columns = columns_[members[i].group];
        for (std::size_t event = 0; event < columns.size(); ++event)
            if (Count* const count = targets_[i][event])
                count->add(since.raw(event), columns[event]->scale, *enabled, *running);
    }
    if (live_.reopen()) find_members();
}

}  // namespace tool
