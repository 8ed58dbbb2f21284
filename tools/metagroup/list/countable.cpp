// SPDX-License-Identifier: MIT
#include "list/countable.hpp"

#include <cerrno>
#include <map>
#include <metagroup/error.hpp>
#include <metagroup/event_group.hpp>
#include <metagroup/event_spec.hpp>

namespace tool {
namespace {

using metagroup::CpuList;
using metagroup::EventGroup;
using metagroup::GroupSpec;
using metagroup::KnownEvent;

bool opens(const std::string& name) {
    const GroupSpec group = metagroup::parse_events(name).front();
    const CpuList cpus = group.events.front().cpus.value_or(CpuList::online());
    try {
        EventGroup::open(group, cpus.empty() ? 0 : *cpus.begin());
        return true;
    } catch (const metagroup::Error& error) {
        // A lack of permission says nothing of the event.
        switch (error.code().value()) {
            case ENOENT:
            case ENODEV:
            case EOPNOTSUPP:
            case EINVAL:
                return false;
            default:
                return true;
        }
    }
}

}  // namespace

Countable::Countable(std::span<const KnownEvent> events) {
    // A single event may need what this very CPU lacks.
    constexpr int tries = 8;
    std::map<std::string, int> tried;
    for (const KnownEvent& event : events) {
        if (event.source != "libpfm4" || pfm_pmus_.contains(event.pmu) ||
            tried[event.pmu]++ >= tries)
            continue;
        if (opens(event.name)) pfm_pmus_.insert(event.pmu);
    }
}

bool Countable::operator()(const KnownEvent& event) const {
    if (event.source == "libpfm4") return pfm_pmus_.contains(event.pmu);
    // Perf's names are the same everywhere; sysfs and tracefs tell of this machine.
    return event.source != "perf" || opens(event.name);
}

}  // namespace tool
