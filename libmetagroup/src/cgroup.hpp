// SPDX-License-Identifier: MIT
// Control groups by name, as perf_event_open(2) wants them.
#pragma once

#include <metagroup/detail/unique_fd.hpp>
#include <string>

namespace metagroup::detail {

/// The directory below which the cgroups lie whose events can be counted: that of the controller
/// perf_event where version 1 has it, else that of version 2. `mounts` is a table as
/// /proc/self/mounts. Throws std::system_error if there is none.
std::string cgroup_root(const std::string& mounts = "/proc/self/mounts");

/// Opens the cgroup `name`: its path below `root`, with or without it.
/// Throws std::system_error that names it and the remedy.
UniqueFd open_cgroup(const std::string& name, const std::string& root = cgroup_root());

}  // namespace metagroup::detail
