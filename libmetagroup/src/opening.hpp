// SPDX-License-Identifier: MIT
// perf_event_open(2), with errors that name the event and where it was to be counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <metagroup/detail/unique_fd.hpp>
#include <metagroup/event_spec.hpp>

namespace metagroup::detail {

/// Where to open the events of a group.
struct EventPlace {
    int cpu = -1;     ///< -1: all CPUs, with the format bit of percpu.hpp
    int cgroup = -1;  ///< -1: all tasks
};

/// Opens event `index` of the group, a leader if `leader` is -1. Leaders are disabled. \throws
/// Error.
UniqueFd open_event(const GroupSpec& spec, std::size_t index, EventPlace place, int leader,
                    std::uint64_t read_format);

/// Throws the Error of perf_event_open(2) with this errno.
[[noreturn]] void fail_to_open(int error, const GroupSpec& spec, std::size_t index,
                               EventPlace place);

}  // namespace metagroup::detail
