// SPDX-License-Identifier: MIT
#include <charconv>
#include <metagroup/cpu_list.hpp>
#include <metagroup/topology.hpp>
#include <optional>
#include <string_view>

#include "system.hpp"

namespace metagroup {
namespace {

// Parses `text`, which must be `prefix` and a number.
std::optional<int> number(std::string_view text, std::string_view prefix = "") {
    if (!text.starts_with(prefix)) return std::nullopt;
    int value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + prefix.size(), end, value);
    if (error != std::errc{} || stop != end) return std::nullopt;
    return value;
}

}  // namespace

std::vector<CpuPlace> read_topology(const std::string& sysfs) {
    std::vector<CpuPlace> places;
    const std::string cpus = sysfs + "/cpu/";
    for (const std::string& name : detail::list_directory(cpus)) {
        const auto cpu = number(name, "cpu");
        if (!cpu) continue;
        const auto at = static_cast<std::size_t>(*cpu);
        if (at >= places.size()) places.resize(at + 1);
        const std::string directory = cpus + name + "/";
        const auto number_in = [&](const std::string& file) {
            return number(detail::read_file(directory + file).value_or("")).value_or(-1);
        };
        CpuPlace& place = places[at];
        place.socket = number_in("topology/physical_package_id");
        place.die = number_in("topology/die_id");
        place.core = number_in("topology/core_id");
        for (const std::string& cache : detail::list_directory(directory + "cache")) {
            const int level = number_in("cache/" + cache + "/level");
            if (level <= place.cache_level) continue;
            place.cache_level = level;
            place.cache = number_in("cache/" + cache + "/id");
        }
    }
    const std::string nodes = sysfs + "/node/";
    for (const std::string& name : detail::list_directory(nodes)) {
        const auto node = number(name, "node");
        const auto list = detail::read_file(nodes + name + "/cpulist").value_or("");
        if (!node || list.empty()) continue;
        for (const int cpu : CpuList::parse(list))
            if (static_cast<std::size_t>(cpu) < places.size())
                places[static_cast<std::size_t>(cpu)].node = *node;
    }
    return places;
}

}  // namespace metagroup
