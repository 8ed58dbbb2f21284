// SPDX-License-Identifier: MIT
#include "recording_features.hpp"

#include <algorithm>
#include <metagroup/cpu_list.hpp>

namespace metagroup::detail {
namespace {

void skip_texts(Fields& fields) {
    for (auto count = fields.take<std::uint32_t>(); count > 0; --count)
        fields.take_text();
}

}  // namespace

void read_event_names(Fields fields, std::vector<RecordedEvent>& events) {
    const auto count = fields.take<std::uint32_t>();
    const auto attr_size = fields.take<std::uint32_t>();
    for (std::uint32_t i = 0; i < count; ++i) {
        fields.take(attr_size);
        const auto ids = fields.take<std::uint32_t>();
        const std::string name = fields.take_text();
        for (std::uint32_t n = 0; n < ids; ++n) {
            const auto id = fields.take<std::uint64_t>();
            if (n > 0) continue;
            for (RecordedEvent& event : events)
                if (!event.ids.empty() && event.ids.front() == id) event.name = name;
        }
    }
}

void read_groups(Fields fields, std::vector<RecordedEvent>& events) {
    for (auto count = fields.take<std::uint32_t>(); count > 0; --count) {
        fields.take_text();  // the name of the group
        const std::size_t leader = fields.take<std::uint32_t>();
        const std::size_t members = fields.take<std::uint32_t>();
        if (leader >= events.size() || members > events.size() - leader)
            fields.refuse("a group has more events than there are");
        for (std::size_t i = leader; i < leader + members; ++i)
            events[i].leader = leader;
    }
}

std::vector<CpuPlace> read_cpu_topology(Fields fields, std::size_t cpus) {
    skip_texts(fields);  // the CPUs of each socket
    skip_texts(fields);  // the CPUs of each core
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
        fields.take(2 * sizeof(std::uint64_t));  // sizes of its memory
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
