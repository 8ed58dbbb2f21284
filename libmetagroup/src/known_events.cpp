// SPDX-License-Identifier: MIT
#include <exception>
#include <iterator>
#include <metagroup/suggestion.hpp>

#include "event_sources.hpp"
#include "format.hpp"

namespace metagroup {

std::vector<KnownEvent> known_events() {
    return detail::known_events({});
}

std::vector<std::string> similar_events(std::string_view word) {
    return similar_words(word, detail::event_names({}));
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

// No value if parse_events() rejects the name.
std::optional<EventSpec> parsed(const std::string& name, const SystemPaths& paths) {
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
            std::string name = detail::format("{}/{}/", pmu_name, event);
            auto spec = parsed(name, paths);
            if (!spec) continue;
            events.push_back({std::move(name), pmu_name, pmu->definition(event),
                              std::move(spec->unit), "sysfs"});
        }
    }
}

// Uses only pfm_encode(): the resolvers would be slow for thousands of events.
void add_pfm(std::vector<KnownEvent>& events) {
    const std::vector<PfmEvent> all = pfm_events();
    const std::set<std::string> shared = shared_names(all);
    for (const PfmEvent& event : all) {
        if (event.pmu == "perf" || event.pmu == "perf_raw") continue;
        const bool qualify = shared.contains(event.name);
        for (PfmEvent& variant : pfm_variants(event))
            events.push_back({qualify ? detail::format("{}::{}", event.pmu, variant.name)
                                      : std::move(variant.name),
                              event.pmu,
                              std::move(variant.description),
                              {},
                              "libpfm4"});
    }
}

}  // namespace

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
            names.push_back(detail::format("{}/{}/", name, event));
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
