// SPDX-License-Identifier: MIT
#include "event_sources.hpp"  // brings linux/perf_event.h: libpfm4 has a copy of its own otherwise

#include <perfmon/pfmlib_perf_event.h>

#include <algorithm>

#include "format.hpp"
#include "suggestion.hpp"

namespace metagroup::detail {
namespace {

// libpfm4 keeps global tables. They are not freed: the process may have other users of them.
bool initialized() {
    static const bool done = pfm_initialize() == PFM_SUCCESS;
    return done;
}

std::string or_empty(const char* text) {
    return text == nullptr ? "" : text;
}

// The modifiers among the attributes are left out.
std::vector<PfmEvent> unit_masks(const std::string& event) {
    std::vector<PfmEvent> masks;
    const int index = pfm_find_event(event.c_str());
    if (index < 0) return masks;
    pfm_event_info_t info{};
    info.size = sizeof(info);
    if (pfm_get_event_info(index, PFM_OS_PERF_EVENT_EXT, &info) != PFM_SUCCESS) return masks;
    for (int i = 0; i < info.nattrs; ++i) {
        pfm_event_attr_info_t attribute{};
        attribute.size = sizeof(attribute);
        if (pfm_get_event_attr_info(index, i, PFM_OS_PERF_EVENT_EXT, &attribute) != PFM_SUCCESS ||
            attribute.name == nullptr || attribute.type != PFM_ATTR_UMASK) {
            continue;
        }
        masks.push_back({{}, attribute.name, or_empty(attribute.desc)});
    }
    return masks;
}

// `pmu::EVENT` of `pmu::EVENT:MASK:u=1`.
std::string event_part(std::string_view event) {
    const std::size_t pmu = event.find("::");
    return std::string(event.substr(0, event.find(':', pmu == event.npos ? 0 : pmu + 2)));
}

Diagnosis refusal(std::string_view event, int error) {
    constexpr std::size_t most = 12;
    const std::string base = event_part(event);
    std::vector<std::string> masks;
    for (PfmEvent& mask : unit_masks(base))
        masks.push_back(std::move(mask.name));
    std::string remedy;
    if (event.size() > base.size())
        remedy = did_you_mean(event.substr(event.rfind(':') + 1), masks, {});
    for (std::size_t i = 0; i < std::min(most, masks.size()); ++i)
        remedy += (i > 0 ? ", " : remedy.empty() ? "unit masks: " : " unit masks: ") + masks[i];
    if (masks.size() > most) remedy += ", ...";
    return {Cause::unknown_event,
            detail::format("libpfm4 knows event \"{}\", but refuses \"{}\": {}", base, event,
                           pfm_strerror(error)),
            std::move(remedy)};
}

}  // namespace

PfmResult pfm_encode(std::string_view event, perf_event_attr& attr) {
    if (!initialized()) return {};
    const std::string text(event);
    perf_event_attr encoded{};
    encoded.size = sizeof(encoded);
    pfm_perf_encode_arg_t argument{};
    argument.size = sizeof(argument);
    argument.attr = &encoded;
    const int result = pfm_get_os_event_encoding(text.c_str(), PFM_PLM0 | PFM_PLM3 | PFM_PLMH,
                                                 PFM_OS_PERF_EVENT_EXT, &argument);
    if (result == PFM_ERR_NOTFOUND) return {};
    if (result != PFM_SUCCESS) return {PfmStatus::refused, refusal(event, result)};
    if (encoded.sample_period != 0 || argument.cpu >= 0)
        return {PfmStatus::refused,
                {Cause::syntax, "periods, frequencies and CPUs are not part of an event here",
                 "remove \"period=\", \"freq=\" and \"cpu=\""}};
    // libpfm4 excludes guests by default, perf does not. Only what is written filters.
    if (text.find(":mg") == std::string::npos && text.find(":mh") == std::string::npos) {
        encoded.exclude_guest = 0;
        encoded.exclude_host = 0;
    }
    encoded.size = sizeof(encoded);
    attr = encoded;
    return {PfmStatus::ok, {}};
}

std::vector<PfmEvent> pfm_events() {
    std::vector<PfmEvent> events;
    if (!initialized()) return events;
    for (int number = PFM_PMU_NONE; number < PFM_PMU_MAX; ++number) {
        pfm_pmu_info_t pmu{};
        pmu.size = sizeof(pmu);
        if (pfm_get_pmu_info(static_cast<pfm_pmu_t>(number), &pmu) != PFM_SUCCESS ||
            pmu.is_present == 0) {
            continue;
        }
        for (int index = pmu.first_event; index != -1; index = pfm_get_event_next(index)) {
            pfm_event_info_t info{};
            info.size = sizeof(info);
            if (pfm_get_event_info(index, PFM_OS_PERF_EVENT_EXT, &info) == PFM_SUCCESS &&
                info.name != nullptr && *info.name != '\0') {
                events.push_back({pmu.name, info.name, or_empty(info.desc)});
            }
        }
    }
    return events;
}

std::set<std::string> shared_names(std::span<const PfmEvent> events) {
    std::set<std::string> seen;
    std::set<std::string> shared;
    for (const PfmEvent& event : events) {
        if (!seen.insert(event.name).second) shared.insert(event.name);
    }
    return shared;
}

std::vector<PfmEvent> pfm_variants(const PfmEvent& event) {
    std::vector<PfmEvent> variants;
    const std::string full = detail::format("{}::{}", event.pmu, event.name);
    perf_event_attr ignored{};
    if (pfm_encode(full, ignored).status == PfmStatus::ok) variants.push_back(event);
    for (const PfmEvent& mask : unit_masks(full)) {
        if (pfm_encode(detail::format("{}:{}", full, mask.name), ignored).status != PfmStatus::ok)
            continue;
        variants.push_back({event.pmu, detail::format("{}:{}", event.name, mask.name),
                            detail::format("{}: {}", event.description, mask.description)});
    }
    return variants;
}

}  // namespace metagroup::detail
