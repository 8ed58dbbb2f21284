// SPDX-License-Identifier: MIT
#include "export/counters.hpp"

#include "metrics.hpp"

namespace tool {

Counters::Counters(metagroup::MetaGroup::Options what) : cpus_(what.cpus), live_(std::move(what)) {
    for (const metagroup::GroupSpec& spec : live_.group().groups()) {
        std::vector<Event>& events = groups_.emplace_back();
        for (const metagroup::EventSpec& event : spec.events) {
            if (is_clock(event.name))
                events.push_back({event.name, "seconds", 1e-9});
            else
                events.push_back({event.name, event.unit, event.scale});
        }
    }
    find_members();
}

// Those of another group that was opened later are the same, but for CPUs that are offline.
void Counters::find_members() {
    targets_.clear();
    for (const auto& member : live_.group().members()) {
        const auto [place, added] =
            places_.try_emplace({member.cpu, member.group}, members_.size());
        if (added)
            members_.push_back({member.cpu, member.group, 0, 0,
                                std::vector<double>(groups_[member.group].size())});
        targets_.push_back(place->second);
    }
}

void Counters::sweep() {
    live_.read();
    const metagroup::Delta delta = live_.delta();
    for (std::size_t i = 0; i < delta.size(); ++i) {
        const metagroup::MemberDelta since = delta[i];
        Member& member = members_[targets_[i]];
        member.enabled += static_cast<double>(since.time_enabled().value_or(0)) / 1e9;
        member.running += static_cast<double>(since.time_running().value_or(0)) / 1e9;
        const std::vector<Event>& events = groups_[member.group];
        for (std::size_t event = 0; event < events.size(); ++event)
            member.values[event] += since.scaled(event).value_or(0) * events[event].scale;
    }
    if (live_.revive()) find_members();
}

}  // namespace tool
