// SPDX-License-Identifier: MIT
/// \file
/// PublishedSet: the published sets of this machine.
#pragma once

#include <cstdint>
#include <metagroup/cpu_list.hpp>
#include <metagroup/export.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace metagroup {

/// A published set, as described in /sys/class/perf_metagroup. See Device::publish() and
/// MetaGroup::Options. Another process may change or remove it at any time.
struct PublishedSet {
    std::string name{};
    std::uint64_t id = 0;      ///< unique, even if the name is reused later
    std::string state{};       ///< the worst Status of its members: `ok`, `offline`...
    std::uint32_t uid = 0;     ///< the owner
    std::uint32_t gid = 0;     ///< the group
    unsigned mode = 0;         ///< who may join: 0400 the owner, 0040 the group, 0004 all
    CpuList cpus{};            ///< the CPUs on which its events are counted
    std::uint64_t events = 0;  ///< on all CPUs
    std::uint64_t users = 0;   ///< meta-groups that have joined
    std::uint64_t sweeps = 0;  ///< made by these so far
};

/// All published sets, sorted by name; none if the module does not support them.
METAGROUP_API std::vector<PublishedSet> published_sets();
/// The published set of that name; no value if there is none.
METAGROUP_API std::optional<PublishedSet> published_set(std::string_view name);

}  // namespace metagroup
