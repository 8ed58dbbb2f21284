// SPDX-License-Identifier: MIT
#include "places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <system_error>
#include <tuple>

namespace tool {
namespace {

namespace fs = std::filesystem;

using Key = std::tuple<int, int, int>;  // sorted by it

int number_in(const fs::path& file) {
    int number = 0;
    std::ifstream stream(file);
    if (!(stream >> number))
        throw std::system_error(stream.is_open() ? EIO : ENOENT, std::generic_category(),
                                "cannot tell where a CPU is by " + file.string());
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

// Not all architectures have dies.
int die_of(const fs::path& topology) {
    const fs::path file = topology / "die_id";
    return fs::exists(file) ? number_in(file) : 0;
}

Key key_of(By by, int number, const fs::path& cpu) {
    const fs::path topology = cpu / "topology";
    switch (by) {
        case By::all:
            return {};
        case By::cpu:
            return {number, 0, 0};
        case By::core:
            return {number_in(topology / "physical_package_id"), die_of(topology),
                    number_in(topology / "core_id")};
        case By::socket:
            return {number_in(topology / "physical_package_id"), 0, 0};
        case By::node:
            return {node_of(cpu), 0, 0};
    }
    return {};
}

std::string name_of(By by, const Key& key) {
    const auto [first, second, third] = key;
    switch (by) {
        case By::all:
            return "";
        case By::cpu:
            return fmt::format("CPU{}", first);
        case By::core:
            return fmt::format("S{}-D{}-C{}", first, second, third);
        case By::socket:
            return fmt::format("S{}", first);
        case By::node:
            return fmt::format("N{}", first);
    }
    return "";
}

}  // namespace

Places::Places(By by, const metagroup::CpuList& cpus, const fs::path& sysfs) {
    std::map<Key, std::vector<int>> found;
    for (const int cpu : cpus)
        found[key_of(by, cpu, sysfs / fmt::format("cpu/cpu{}", cpu))].push_back(cpu);
    for (const auto& [key, members] : found) {
        for (const int cpu : members) {
            const auto at = static_cast<std::size_t>(cpu);
            index_.resize(std::max(index_.size(), at + 1));
            index_[at] = places_.size();
        }
        places_.push_back({name_of(by, key), members.size()});
    }
}

}  // namespace tool
