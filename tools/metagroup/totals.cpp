// SPDX-License-Identifier: MIT
#include "totals.hpp"

#include <algorithm>

namespace tool {

double Count::coverage() const {
    return enabled == 0 ? 0 : static_cast<double>(running) / static_cast<double>(enabled);
}

Totals::Totals(const metagroup::MetaGroup& group, const Places& places) {
    std::vector<std::size_t> first_column;
    for (const metagroup::GroupSpec& spec : group.groups()) {
        first_column.push_back(columns_.size());
        for (const metagroup::EventSpec& event : spec.events)
            columns_.push_back({event.name, event.unit, event.scale});
    }
    for (const auto& member : group.members()) {
        const std::size_t place = places.index_of(member.cpu);
        targets_.push_back({place * columns_.size() + first_column[member.group],
                            group.groups()[member.group].events.size()});
    }
    counts_.resize(places.all().size() * columns_.size());
}

void Totals::clear() {
    std::ranges::fill(counts_, Count{});
}

void Totals::add(const metagroup::Delta& delta) {
    for (std::size_t i = 0; i < delta.size(); ++i) {
        const metagroup::MemberDelta member = delta[i];
        const auto enabled = member.time_enabled();
        const auto running = member.time_running();
        if (!enabled || !running) continue;
        const Target& target = targets_[i];
        for (std::size_t event = 0; event < target.events; ++event) {
            Count& count = counts_[target.first + event];
            count.enabled += *enabled;
            count.running += *running;
            const auto counted = member.raw(event);
            if (!counted) continue;
            const auto value = metagroup::scale_count(*counted, *enabled, *running);
            if (!value) continue;
            count.value += *value * columns_[(target.first + event) % columns_.size()].scale;
            ++count.cpus;
        }
    }
}

}  // namespace tool
