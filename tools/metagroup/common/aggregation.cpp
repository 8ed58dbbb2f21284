// SPDX-License-Identifier: MIT
#include "common/aggregation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <system_error>
#include <utility>

namespace tool {
namespace {

// The numbers in front, so that CPU10 is sorted behind CPU9.
using Key = std::pair<std::array<int, 4>, std::string>;

Key key_of(AggrMode mode, int cpu, const metagroup::CpuPlace& at) {
    switch (mode) {
        case AggrMode::all:
            return {};
        case AggrMode::cpu:
            return {{cpu}, fmt::format("CPU{}", cpu)};
        case AggrMode::core:
            return {{at.socket, at.die, at.core},
                    fmt::format("S{}-D{}-C{}", at.socket, at.die, at.core)};
        case AggrMode::cache:
            return {{at.socket, at.die, at.cache_level, at.cache},
                    fmt::format("S{}-D{}-L{}-ID{}", at.socket, at.die, at.cache_level, at.cache)};
        case AggrMode::die:
            return {{at.socket, at.die}, fmt::format("S{}-D{}", at.socket, at.die)};
        case AggrMode::socket:
            return {{at.socket}, fmt::format("S{}", at.socket)};
        case AggrMode::node:
            return {{at.node}, fmt::format("N{}", at.node)};
    }
    return {};
}

// Not all architectures have dies, nor all kernels nodes.
void fill_in(metagroup::CpuPlace& place) {
    place.die = std::max(place.die, 0);
    place.node = std::max(place.node, 0);
}

// Of this machine, as far as the mode needs it.
std::vector<metagroup::CpuPlace> topology_for(AggrMode mode, const metagroup::CpuList& cpus,
                                              const std::string& sysfs) {
    if (mode == AggrMode::all || mode == AggrMode::cpu) return {};
    return read_places(cpus, mode != AggrMode::node, sysfs);
}

}  // namespace

std::vector<metagroup::CpuPlace> read_places(const metagroup::CpuList& cpus, bool sockets,
                                             const std::string& sysfs) {
    auto places = metagroup::read_topology(sysfs);
    for (const int cpu : cpus) {
        const auto at = static_cast<std::size_t>(cpu);
        places.resize(std::max(places.size(), at + 1));
        if (sockets && places[at].socket < 0 && places[at].core < 0)
            throw std::system_error(
                ENOENT, std::generic_category(),
                fmt::format("cannot read the CPU topology from {}/cpu/cpu{}/topology", sysfs, cpu));
    }
    std::ranges::for_each(places, fill_in);
    return places;
}

Aggregation::Aggregation(AggrMode mode, const metagroup::CpuList& cpus, const std::string& sysfs)
    : Aggregation(mode, cpus, topology_for(mode, cpus, sysfs)) {}

Aggregation::Aggregation(AggrMode mode, const metagroup::CpuList& cpus,
                         std::span<const metagroup::CpuPlace> topology)
    : mode_(mode) {
    find_places(cpus, [&](int cpu) {
        const auto at = static_cast<std::size_t>(cpu);
        metagroup::CpuPlace place = at < topology.size() ? topology[at] : metagroup::CpuPlace{};
        fill_in(place);
        if (mode == AggrMode::cache && place.cache < 0)
            throw std::system_error(
                ENOENT, std::generic_category(),
                fmt::format("the last-level cache of CPU {} is not known", cpu));
        return key_of(mode, cpu, place);
    });
}

const Aggregation& Aggregation::one() {
    static const Aggregation one(AggrMode::all, metagroup::CpuList({0}));
    return one;
}

template <typename KeyOf>
void Aggregation::find_places(const metagroup::CpuList& cpus, const KeyOf& key_of) {
    std::map<Key, std::vector<int>> found;
    for (const int cpu : cpus)
        found[key_of(cpu)].push_back(cpu);
    for (const auto& [key, members] : found) {
        for (const int cpu : members) {
            const auto at = static_cast<std::size_t>(cpu);
            index_.resize(std::max(index_.size(), at + 1));
            index_[at] = places_.size();
        }
        places_.push_back({key.second, metagroup::CpuList(members)});
    }
}

}  // namespace tool
