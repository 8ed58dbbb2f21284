// SPDX-License-Identifier: MIT
// The features of a perf.data file that a Recording uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <metagroup/recording.hpp>
#include <unordered_map>
#include <vector>

#include "fields.hpp"

namespace metagroup::detail {

/// Sets the names of events, which are found by their identifiers.
void read_event_names(Fields fields, const std::unordered_map<std::uint64_t, std::size_t>& by_id,
                      std::vector<RecordedEvent>& events);
/// Sets the leaders.
void read_groups(Fields fields, std::vector<RecordedEvent>& events);
/// Sockets, dies and cores of `cpus` CPUs.
std::vector<CpuPlace> read_cpu_topology(Fields fields, std::size_t cpus);
/// Sets the nodes.
void read_nodes(Fields fields, std::vector<CpuPlace>& places);

}  // namespace metagroup::detail
