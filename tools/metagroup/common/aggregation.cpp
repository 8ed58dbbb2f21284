// SPDX-License-Identifier: MIT
#include "common/aggregation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>

namespace tool {
namespace {

namespace fs = std::filesystem;

// The numbers in front, so that CPU10 is sorted behind CPU9.
using Key = std::pair<std::array<int, 3>, std::string>;

int number_in(const fs::path& file) {
    int number = 0;
    std::ifstream stream(file);
    if (!(stream >> number))
        throw std::system_error(stream.is_open() ? EIO : ENOENT, std::generic_category(),
                                "cannot read the CPU topology from " + file.string());
    return number;
}

int node_of(const fs::path& cpu) {
    for (const fs::directory_entry& entry : fs::directory_iterator(cpu)) {
        const std::string name = entry.path().filename();
        if (name.starts_with("node") && name.find_first_not_of("0123456789", 4) == name.npos)
            return std::stoi(name.substr(4));
    }
    return 0;  // kernels without NUMA have no nodes
}

// The numbers that the mode needs.
metagroup::CpuPlace place_of(AggrMode mode, const fs::path& directory) {
    const fs::path topology = directory / "topology";
    metagroup::CpuPlace place;
    if (mode == AggrMode::node) place.node = node_of(directory);
    if (mode == AggrMode::core) {
        // Not all architectures have dies.
        const fs::path die_id = topology / "die_id";
        place.die = fs::exists(die_id) ? number_in(die_id) : 0;
        place.core = number_in(topology / "core_id");
    }
    if (mode == AggrMode::core || mode == AggrMode::socket)
        place.socket = number_in(topology / "physical_package_id");
    return place;
}

Key key_of(AggrMode mode, int cpu, const metagroup::CpuPlace& at) {
    switch (mode) {
        case AggrMode::all:
            return {};
        case AggrMode::cpu:
            return {{cpu}, fmt::format("CPU{}", cpu)};
        case AggrMode::core:
            return {{at.socket, at.die, at.core},
                    fmt::format("S{}-D{}-C{}", at.socket, at.die, at.core)};
        case AggrMode::socket:
            return {{at.socket}, fmt::format("S{}", at.socket)};
        case AggrMode::node:
            return {{at.node}, fmt::format("N{}", at.node)};
    }
    return {};
}

}  // namespace

Aggregation::Aggregation(AggrMode mode, const metagroup::CpuList& cpus, const fs::path& sysfs) {
    find_places(cpus, [&](int cpu) {
        return key_of(mode, cpu, place_of(mode, sysfs / fmt::format("cpu/cpu{}", cpu)));
    });
}

Aggregation::Aggregation(AggrMode mode, const metagroup::CpuList& cpus,
                         std::span<const metagroup::CpuPlace> topology) {
    find_places(cpus, [&](int cpu) {
        const auto at = static_cast<std::size_t>(cpu);
        metagroup::CpuPlace place = at < topology.size() ? topology[at] : metagroup::CpuPlace{};
        place.die = std::max(place.die, 0);    // not all architectures have dies,
        place.node = std::max(place.node, 0);  // nor all kernels nodes
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
        places_.push_back({key.second, members.size()});
    }
}

}  // namespace tool
