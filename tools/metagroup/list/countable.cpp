// SPDX-License-Identifier: MIT
#include "list/countable.hpp"

#include <map>

#include "probe.hpp"

namespace tool {

Countable::Countable(std::span<const metagroup::KnownEvent> events) {
    // A single event may need what this very CPU lacks.
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
    // Perf's names are the same everywhere; sysfs and tracefs tell of this machine.
    return event.source != "perf" || can_count(event.name);
}

}  // namespace tool
