// SPDX-License-Identifier: MIT
#include "known_events.hpp"

#include <linux/perf_event.h>

#include <exception>
#include <iterator>
#include <metagroup/event_spec.hpp>
#include <optional>
#include <utility>

#include "event_resolver.hpp"
#include "formatted.hpp"
#include "generic_events.hpp"
#include "suggestion.hpp"
#include "sysfs_pmu.hpp"
#include "tracepoint.hpp"

namespace metagroup {

std::vector<KnownEvent> known_events() {
    return detail::known_events({});
}

std::vector<std::string> near_events(std::string_view word) {
    return detail::near_matches(word, detail::event_names({}));
}

namespace detail {
namespace {

const char* pmu_of(const GenericEvent& event) {
    switch (event.type) {
        case PERF_TYPE_HARDWARE:
            return "hardware";
        case PERF_TYPE_SOFTWARE:
            return "software";
        default:
            return "cache";
    }
}

// What parse_events() makes of the name; nothing if it refuses it.
std::optional<EventSpec> understood(const std::string& name, const SystemPaths& paths) {
    try {
        return parse_events(name, paths).front().events.front();
    } catch (const std::exception&) {
        return std::nullopt;
    }
}

void add_sysfs(std::vector<KnownEvent>& events, const SystemPaths& paths) {
    for (const std::string& pmu_name : SysfsPmu::names(paths)) {
        const auto pmu = SysfsPmu::find(paths, pmu_name);
        if (!pmu) continue;
        for (const std::string& event : pmu->events()) {
            std::string name = formatted("{}/{}/", pmu_name, event);
            auto spec = understood(name, paths);
            if (!spec) continue;
            events.push_back({std::move(name), pmu_name, pmu->definition(event),
                              std::move(spec->unit), "sysfs"});
        }
    }
}

// Asks libpfm4 alone, since the whole resolver takes long where there are thousands.
void add_pfm(std::vector<KnownEvent>& events) {
    const std::vector<PfmEvent> all = pfm_events();
    const std::set<std::string> shared = shared_names(all);
    for (const PfmEvent& event : all) {
        if (event.pmu == "perf" || event.pmu == "perf_raw") continue;
        const bool qualify = shared.contains(event.name);
        for (PfmEvent& variant : pfm_variants(event)) {
            events.push_back(
                {qualify ? formatted("{}::{}", event.pmu, variant.name) : std::move(variant.name),
                 event.pmu,
                 std::move(variant.description),
                 {},
                 "libpfm4"});
        }
    }
}

}  // namespace

std::set<std::string> shared_names(std::span<const PfmEvent> events) {
    std::set<std::string> seen;
    std::set<std::string> shared;
    for (const PfmEvent& event : events) {
        if (!seen.insert(event.name).second) shared.insert(event.name);
    }
    return shared;
}

std::vector<KnownEvent> known_events(const SystemPaths& paths) {
    std::vector<KnownEvent> events;
    for (const GenericEvent& event : generic_events())
        events.push_back({event.name, pmu_of(event), event.description, {}, "perf"});
    add_sysfs(events, paths);
    add_pfm(events);
    for (std::string& name : tracepoint_names(paths))
        events.push_back({std::move(name), "tracepoint", {}, {}, "tracefs"});
    return events;
}

std::vector<std::string> event_names(const SystemPaths& paths) {
    std::vector<std::string> names;
    for (const GenericEvent& event : generic_events())
        names.push_back(event.name);
    for (const std::string& name : SysfsPmu::names(paths)) {
        const auto pmu = SysfsPmu::find(paths, name);
        if (!pmu) continue;
        for (const std::string& event : pmu->events())
            names.push_back(formatted("{}/{}/", name, event));
    }
    for (PfmEvent& event : pfm_events())
        names.push_back(std::move(event.name));
    std::vector<std::string> tracepoints = tracepoint_names(paths);
    names.insert(names.end(), std::make_move_iterator(tracepoints.begin()),
                 std::make_move_iterator(tracepoints.end()));
    return names;
}

}  // namespace detail
}  // namespace metagroup
