// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <map>
#include <metagroup/aggregation.hpp>
#include <metagroup/error.hpp>
#include <utility>

#include "format.hpp"

namespace metagroup {
namespace {

// The numbers first, so that CPU10 sorts after CPU9.
using Key = std::pair<std::array<int, 4>, std::string>;

// Sorts last.
Key unknown() {
    return {{INT_MAX}, "unknown"};
}

Key key_of(AggrMode mode, int cpu, const CpuPlace& at) {
    // Not all architectures have dies, and not all kernels have nodes.
    const int die = std::max(at.die, 0);
    if (mode == AggrMode::all) return {};
    if (mode == AggrMode::cpu) return {{cpu}, detail::format("CPU{}", cpu)};
    if (mode == AggrMode::node)
        return {{std::max(at.node, 0)}, detail::format("N{}", std::max(at.node, 0))};
    if (at.socket < 0 && at.core < 0) return unknown();
    switch (mode) {
        case AggrMode::core:
            return {{at.socket, die, at.core},
                    detail::format("S{}-D{}-C{}", at.socket, die, at.core)};
        case AggrMode::cache:
            if (at.cache < 0) return unknown();
            return {{at.socket, die, at.cache_level, at.cache},
                    detail::format("S{}-D{}-L{}-ID{}", at.socket, die, at.cache_level, at.cache)};
        case AggrMode::die:
            return {{at.socket, die}, detail::format("S{}-D{}", at.socket, die)};
        default:
            return {{at.socket}, detail::format("S{}", at.socket)};
    }
}

// The topology of this machine, as far as the mode needs it.
std::vector<CpuPlace> topology_for(AggrMode mode, const std::string& sysfs) {
    if (mode == AggrMode::all || mode == AggrMode::cpu) return {};
    return read_topology(sysfs);
}

}  // namespace

Aggregation::Aggregation(AggrMode mode, const CpuList& cpus, const std::string& sysfs)
    : Aggregation(mode, cpus, topology_for(mode, sysfs)) {}

Aggregation::Aggregation(AggrMode mode, const CpuList& cpus, std::span<const CpuPlace> topology)
    : mode_(mode) {
    std::map<Key, std::vector<int>> found;
    for (const int cpu : cpus) {
        const auto at = static_cast<std::size_t>(cpu);
        found[key_of(mode, cpu, at < topology.size() ? topology[at] : CpuPlace{})].push_back(cpu);
    }
    if (found.size() == 1 && found.begin()->first == unknown())
        throw Error(Cause::other, ENOENT,
                    {"cannot aggregate counts",
                     detail::format("the {} of CPU {} is unknown",
                                    mode == AggrMode::cache ? "last-level cache" : "topology",
                                    cpus.to_string()),
                     "aggregate by CPU or node"});
    for (const auto& [key, members] : found) {
        for (const int cpu : members) {
            const auto at = static_cast<std::size_t>(cpu);
            index_.resize(std::max(index_.size(), at + 1));
            index_[at] = places_.size();
        }
        places_.push_back({key.second, CpuList(members)});
    }
}

}  // namespace metagroup
