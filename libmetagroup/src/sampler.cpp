// SPDX-License-Identifier: MIT
#include "sampler.hpp"

#include <algorithm>

namespace metagroup::detail {

void Sampler::describe(std::span<const GroupSpec> groups) {
    for (const GroupSpec& group : groups) {
        leaders_.push_back(events.size());
        for (const EventSpec& event : group.events)
            events.push_back({.name = event.name,
                              .attr = event.attr,
                              .leader = leaders_.back(),
                              .scale = event.scale,
                              .unit = event.unit});
    }
}

void Sampler::add_ids(std::size_t group, std::span<const std::uint64_t> ids) {
    const std::size_t begin = leaders_[group];
    const std::size_t end = group + 1 < leaders_.size() ? leaders_[group + 1] : events.size();
    // Another owner of the leader's descriptor may have added siblings, at the end.
    for (std::size_t i = 0; i < std::min(ids.size(), end - begin); ++i)
        events[begin + i].ids.push_back(ids[i]);
}

}  // namespace metagroup::detail
