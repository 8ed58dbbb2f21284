// SPDX-License-Identifier: MIT
// Layouts of counters, for tests of what is added up.
#pragma once

#include <cstdint>
#include <memory>
#include <metagroup/counts.hpp>
#include <utility>
#include <vector>

namespace metagroup::test {

constexpr std::uint64_t kSecond = 1'000'000'000;

// Two events, {cycles,instructions}, on some CPUs.
inline std::shared_ptr<const CountLayout> layout_of(int cpus, AggrMode mode = AggrMode::all,
                                                    std::vector<Column> columns = {
                                                        {.event = "cycles"},
                                                        {.event = "instructions"}}) {
    std::vector<CountLayout::Lane> lanes;
    std::vector<int> numbers;
    for (int cpu = 0; cpu < cpus; ++cpu) {
        lanes.push_back({cpu, 0, columns.size()});
        numbers.push_back(cpu);
    }
    return std::make_shared<CountLayout>(std::move(columns), std::move(lanes),
                                         Aggregation(mode, CpuList(numbers)));
}

}  // namespace metagroup::test
