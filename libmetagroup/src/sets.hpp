// SPDX-License-Identifier: MIT
// Opens the groups of a MetaGroup as sets.
#pragma once

#include <metagroup/device.hpp>
#include <metagroup/metagroup.hpp>
#include <span>
#include <string>
#include <vector>

namespace metagroup::detail {

/// The reason why the groups cannot be sets; empty if the module may be able to open them.
std::string why_not_sets(const MetaGroup::Options& options, const Device& device);

/// Opens a set for each group, on the CPUs at the same index in `cpus`. If all of these are online,
/// it follows them even without Options::follow, which only affects the error for an offline CPU.
std::vector<MetaGroup::Member> open_sets(Device& device, const MetaGroup::Options& options,
                                         std::span<const CpuList> cpus);

struct JoinedSet {
    std::vector<GroupSpec> groups{};
    std::vector<MetaGroup::Member> members{};
    std::uint64_t read_format = 0;
};

/// Joins a published set and describes its events.
JoinedSet join_set(Device& device, const std::string& name);

}  // namespace metagroup::detail
