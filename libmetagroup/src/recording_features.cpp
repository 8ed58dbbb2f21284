// SPDX-License-Identifier: MIT
#include "recording_features.hpp"

#include <algorithm>
#include <metagroup/cpu_list.hpp>
#include <numeric>

#include "recording_layout.hpp"

namespace metagroup::detail {
namespace {

void skip_texts(Fields& fields) {
    for (auto count = fields.take<std::uint32_t>(); count > 0; --count)
        fields.take_text();
}

}  // namespace

void read_event_names(Fields fields, const std::unordered_map<std::uint64_t, std::size_t>& by_id,
                      std::vector<RecordedEvent>& events) {
    const auto count = fields.take<std::uint32_t>();
    const auto attr_size = fields.take<std::uint32_t>();
    for (std::uint32_t i = 0; i < count; ++i) {
        fields.take(attr_size);
        const std::size_t ids = fields.take<std::uint32_t>();
        const std::string name = fields.take_text();
        Fields numbers = fields;
        fields.take(ids * sizeof(std::uint64_t));
        if (ids == 0) continue;
        const auto event = by_id.find(numbers.take<std::uint64_t>());
        if (event != by_id.end()) events[event->second].name = printable(name);
    }
}

void read_groups(Fields fields, std::vector<RecordedEvent>& events) {
    std::vector<std::size_t> leaders(events.size());
    std::iota(leaders.begin(), leaders.end(), std::size_t{0});
    std::size_t left = events.size();
    for (auto count = fields.take<std::uint32_t>(); count > 0; --count) {
        fields.take_text();  // the name of the group
        const std::size_t leader = fields.take<std::uint32_t>();
        const std::size_t members = fields.take<std::uint32_t>();
        if (leader >= events.size() || members > std::min(events.size() - leader, left))
            fields.refuse("groups have more events than the file");
        left -= members;
        for (std::size_t i = leader; i < leader + members; ++i)
            leaders[i] = leader;
    }
    for (std::size_t i = 0; i < events.size(); ++i)
        events[i].leader = leaders[i];
}

std::vector<CpuPlace> read_cpu_topology(Fields fields, std::size_t cpus) {
    skip_texts(fields);                 // the CPUs of each socket
    skip_texts(fields);                 // the CPUs of each core
    if (fields.left() == 0) return {};  // written by an old perf
    if (cpus > fields.left() / (2 * sizeof(std::uint32_t)))
        fields.refuse("the topology has fewer CPUs than the machine");
    std::vector<CpuPlace> places(cpus);
    for (CpuPlace& place : places) {
        place.core = fields.take<std::int32_t>();
        place.socket = fields.take<std::int32_t>();
    }
    if (fields.left() == 0) return places;  // an architecture without dies
    skip_texts(fields);
    for (CpuPlace& place : places)
        place.die = fields.take<std::int32_t>();
    return places;
}

void read_nodes(Fields fields, std::vector<CpuPlace>& places) {
    for (auto count = fields.take<std::uint32_t>(); count > 0; --count) {
        const auto node = fields.take<std::int32_t>();
        fields.take(2 * sizeof(std::uint64_t));  // its memory sizes
        const std::string cpus = fields.take_text();
        if (cpus.empty()) continue;  // memory only
        const CpuList list = [&] {
            try {
                return CpuList::parse(cpus);
            } catch (const Error&) {
                fields.refuse("the CPUs of a node cannot be parsed");
            }
        }();
        for (const int cpu : list)
            if (static_cast<std::size_t>(cpu) < places.size())
                places[static_cast<std::size_t>(cpu)].node = node;
    }
}

}  // namespace metagroup::detail
