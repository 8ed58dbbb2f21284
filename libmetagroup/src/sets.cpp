// SPDX-License-Identifier: MIT
#include "sets.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

namespace metagroup::detail {
namespace {

// Opens each event by itself on one of the CPUs: perf_event_open(2) checks what the module cannot.
std::vector<EventGroup> open_templates(const GroupSpec& group, const CpuList& cpus) {
    const CpuList online = cpus.intersect(CpuList::online());
    const int cpu = *(online.empty() ? cpus : online).begin();
    std::vector<EventGroup> templates;
    templates.reserve(group.events.size());
    for (const EventSpec& event : group.events)
        templates.push_back(EventGroup::open(GroupSpec{{event}}, cpu));
    return templates;
}

bool same_events(std::span<const perf_event_attr> a, std::span<const perf_event_attr> b) {
    return std::ranges::equal(a, b, [](const auto& one, const auto& other) {
        return std::memcmp(&one, &other, sizeof(one)) == 0;
    });
}

}  // namespace

std::string why_not_sets(const MetaGroup::Options& options, const Device& device) {
    if ((device.info().features & PERF_METAGROUP_FEATURE_SET) == 0)
        return "the module does not support sets";
    if (!options.cgroup.empty()) return "sets cannot be limited to a cgroup";
    if ((options.read_format & ReadFormat::group) == 0)
        return "the read format lacks ReadFormat::group";
    for (const GroupSpec& group : options.groups) {
        for (const EventSpec& event : group.events) {
            // The module ignores these.
            if (event.attr.exclusive != 0 || event.attr.precise_ip != 0)
                return "sets do not support exclusive or precise events";
        }
    }
    return {};
}

std::vector<MetaGroup::Member> open_sets(Device& device, const MetaGroup::Options& options,
                                         std::span<const CpuList> cpus) {
    std::vector<MetaGroup::Member> members;
    const CpuList online = CpuList::online();
    for (std::size_t group = 0; group < cpus.size(); ++group) {
        const auto templates = open_templates(options.groups[group], cpus[group]);
        std::vector<int> fds(templates.size());
        std::ranges::transform(templates, fds.begin(), &EventGroup::leader_fd);
        const bool follow = options.follow || cpus[group].intersect(online) == cpus[group];
        std::uint32_t number = device
                                   .open_set(fds, {.cpus = cpus[group],
                                                   .follow = follow,
                                                   .read_format = options.read_format})
                                   .first;
        for (const int cpu : cpus[group])
            members.push_back({number++, cpu, group});
    }
    return members;
}

JoinedSet join_set(Device& device, const std::string& name) {
    const NewMembers added = device.join(name);
    JoinedSet joined;
    std::vector<std::vector<perf_event_attr>> known;  // of each group
    std::set<std::pair<std::size_t, int>> placed;     // group and CPU
    for (std::uint32_t number = added.first; number < added.first + added.count; ++number) {
        const MemberInfo member = device.member(number);
        std::vector<perf_event_attr> attrs = device.events(number);
        // The same events twice on one CPU are two groups.
        std::size_t same = 0;
        while (same < known.size() &&
               (!same_events(attrs, known[same]) || placed.contains({same, member.cpu})))
            ++same;
        placed.insert({same, member.cpu});
        joined.members.push_back({number, member.cpu, same});
        joined.read_format = member.read_format;
        if (same < known.size()) continue;
        GroupSpec& group = joined.groups.emplace_back();
        for (const perf_event_attr& attr : attrs)
            group.events.push_back(describe_event(attr));
        known.push_back(std::move(attrs));
    }
    return joined;
}

}  // namespace metagroup::detail
