// SPDX-License-Identifier: MIT
#include "export/labels.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <metagroup/topology.hpp>
#include <string_view>

namespace tool {
namespace {

struct PlaceLabel {
    std::string_view name;
    int metagroup::CpuPlace::*number;
    std::array<std::string_view, 2> of;  // labels that imply this one
};

constexpr auto kPlaceLabels = std::to_array<PlaceLabel>({
    {"socket", &metagroup::CpuPlace::socket, {"die", "core"}},
    {"die", &metagroup::CpuPlace::die, {"core"}},
    {"core", &metagroup::CpuPlace::core, {}},
    {"node", &metagroup::CpuPlace::node, {}},
});

}  // namespace

std::vector<std::string> Labels::names() {
    std::vector<std::string> names{"event", "cpu"};
    for (const PlaceLabel& place : kPlaceLabels)
        names.emplace_back(place.name);
    return names;
}

Labels::Labels(const std::vector<std::string>& names, const metagroup::CpuList& cpus,
               const std::string& sysfs) {
    const auto has = [&](std::string_view name) {
        return std::ranges::find(names, name) != names.end();
    };
    std::vector<PlaceLabel> wanted;
    for (const PlaceLabel& place : kPlaceLabels)
        if (has(place.name) || std::ranges::any_of(place.of, has)) wanted.push_back(place);
    const auto topology =
        wanted.empty() ? std::vector<metagroup::CpuPlace>() : metagroup::read_topology(sysfs);
    // Nothing is known about offline CPUs. Not all architectures have dies, and not all kernels
    // have nodes.
    const auto number_at = [&](int cpu, int metagroup::CpuPlace::*number) {
        const auto at = static_cast<std::size_t>(cpu);
        const metagroup::CpuPlace place =
            at < topology.size() ? topology[at] : metagroup::CpuPlace{};
        const bool known = place.socket >= 0 || place.core >= 0;
        const bool may_lack =
            number == &metagroup::CpuPlace::node || (known && number == &metagroup::CpuPlace::die);
        return may_lack ? std::max(place.*number, 0) : place.*number;
    };
    std::map<std::vector<int>, std::size_t> found;
    for (const int cpu : cpus) {
        std::vector<int> numbers;
        LabelSet set;
        const auto add = [&](std::string_view name, int number) {
            numbers.push_back(number);
            set.emplace_back(name, number < 0 ? "unknown" : std::to_string(number));
        };
        if (has("cpu")) add("cpu", cpu);
        for (const PlaceLabel& place : wanted)
            add(place.name, number_at(cpu, place.number));
        const auto [at, added] = found.try_emplace(numbers, sets_.size());
        if (added) sets_.push_back(std::move(set));
        index_.resize(static_cast<std::size_t>(cpu) + 1);
        index_.back() = at->second;
    }
}

}  // namespace tool
