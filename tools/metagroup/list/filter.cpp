// SPDX-License-Identifier: MIT
#include "list/filter.hpp"

#include <fnmatch.h>

#include <map>
#include <utility>

#include "common/selection.hpp"

namespace tool {

Pattern::Pattern(std::string text) {
    if (text == "hw")
        pmu_ = "hardware";
    else if (text == "sw")
        pmu_ = "software";
    else
        glob_ = text.find_first_of("*?[") == text.npos ? "*" + text + "*" : std::move(text);
}

bool Pattern::fits(const std::string& text) const {
    return ::fnmatch(glob_.c_str(), text.c_str(), FNM_CASEFOLD) == 0;
}

bool Pattern::matches(const metagroup::KnownEvent& event) const {
    if (!pmu_.empty()) return event.pmu == pmu_;
    return fits(event.name) || fits(event.pmu) || fits(event.description);
}

Countable::Countable(std::span<const metagroup::KnownEvent> events) {
    // A single event may be missing on this model of CPU only.
    constexpr int tries = 8;
    std::map<std::string, int> tried;
    for (const metagroup::KnownEvent& event : events) {
        if (event.source != "libpfm4" || pfm_pmus_.contains(event.pmu) ||
            tried[event.pmu]++ >= tries)
            continue;
        if (can_count(event.name)) pfm_pmus_.insert(event.pmu);
    }
}

bool Countable::operator()(const metagroup::KnownEvent& event) const {
    if (event.source == "libpfm4") return pfm_pmus_.contains(event.pmu);
    // The names of perf are the same everywhere; sysfs and tracefs describe this machine.
    return event.source != "perf" || can_count(event.name);
}

}  // namespace tool
