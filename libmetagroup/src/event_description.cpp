// SPDX-License-Identifier: MIT
// Converts an event's attr to a name that parse_events() reads.
#include <utility>

#include "event_sources.hpp"
#include "format.hpp"

namespace metagroup {

EventSpec describe_event(const perf_event_attr& attr) {
    return detail::describe_event(attr, {});
}

namespace detail {
namespace {

bool same_event(const perf_event_attr& a, const perf_event_attr& b) {
    return a.type == b.type && a.config == b.config && a.config1 == b.config1 &&
           a.config2 == b.config2;
}

std::string modifier_string(const perf_event_attr& attr) {
    std::string letters;
    if (attr.exclude_user != 0 || attr.exclude_kernel != 0 || attr.exclude_hv != 0) {
        if (attr.exclude_user == 0) letters += 'u';
        if (attr.exclude_kernel == 0) letters += 'k';
        if (attr.exclude_hv == 0) letters += 'h';
    }
    if (attr.exclude_host != 0 && attr.exclude_guest == 0) letters += 'G';
    if (attr.exclude_guest != 0 && attr.exclude_host == 0) letters += 'H';
    if (attr.exclude_idle != 0) letters += 'I';
    return letters;
}

// The event that `text` names, if it has this attr.
std::optional<EventSpec> match(const std::string& text, const perf_event_attr& attr,
                               const SystemPaths& paths) {
    try {
        for (EventSpec& spec : resolve_event(text, paths))
            if (same_event(spec.attr, attr)) return std::move(spec);
    } catch (const std::exception&) {  // PMUs come and go
    }
    return std::nullopt;
}

std::optional<EventSpec> find_generic(const perf_event_attr& attr, const SystemPaths& paths) {
    for (const GenericEvent& event : generic_events())
        if (event.type == attr.type && event.config == attr.config)
            return match(event.name, attr, paths);
    return std::nullopt;
}

std::optional<EventSpec> find_tracepoint(const perf_event_attr& attr, const SystemPaths& paths) {
    if (attr.type != PERF_TYPE_TRACEPOINT) return std::nullopt;
    for (const std::string& name : tracepoint_names(paths))
        if (auto spec = match(name, attr, paths)) return spec;
    return std::nullopt;
}

// By its name, or otherwise by its numbers.
std::optional<EventSpec> find_in_sysfs(const perf_event_attr& attr, const SystemPaths& paths) {
    std::optional<EventSpec> numbers;
    for (const std::string& pmu_name : SysfsPmu::names(paths)) {
        const auto pmu = SysfsPmu::find(paths, pmu_name);
        if (!pmu) continue;
        for (const std::string& event : pmu->events())
            if (auto spec = match(detail::format("{}/{}/", pmu_name, event), attr, paths))
                return spec;
        std::string text = detail::format("{}/config={:#x}", pmu_name, attr.config);
        if (attr.config1 != 0) text += detail::format(",config1={:#x}", attr.config1);
        if (attr.config2 != 0) text += detail::format(",config2={:#x}", attr.config2);
        if (!numbers) numbers = match(text + '/', attr, paths);
    }
    return numbers;
}

std::optional<EventSpec> find_in_pfm(const perf_event_attr& attr, const SystemPaths& paths) {
    for (const KnownEvent& event : known_events(paths)) {
        perf_event_attr known{};
        if (event.source == "libpfm4" && pfm_encode(event.name, known).status == PfmStatus::ok &&
            same_event(known, attr))
            return match(event.name, attr, paths);
    }
    return std::nullopt;
}

}  // namespace

EventSpec describe_event(const perf_event_attr& attr, const SystemPaths& paths) {
    auto found = find_generic(attr, paths);
    if (!found) found = find_tracepoint(attr, paths);
    if (!found && attr.type == PERF_TYPE_RAW) found = find_in_pfm(attr, paths);
    if (!found) found = find_in_sysfs(attr, paths);
    EventSpec spec = found ? std::move(*found) : EventSpec();
    if (!found) spec.name = detail::format("type={}/config={:#x}/", attr.type, attr.config);
    spec.attr = attr;
    const std::string letters = modifier_string(attr);
    if (!letters.empty()) spec.name += (spec.name.ends_with('/') ? "" : ":") + letters;
    return spec;
}

}  // namespace detail
}  // namespace metagroup
