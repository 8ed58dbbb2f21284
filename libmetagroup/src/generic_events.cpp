// SPDX-License-Identifier: MIT
#include "generic_events.hpp"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <utility>

namespace metagroup::detail {
namespace {

using Entry = std::pair<std::string_view, std::uint64_t>;

constexpr std::array hardware = {
    Entry{"cycles", PERF_COUNT_HW_CPU_CYCLES},
    Entry{"cpu-cycles", PERF_COUNT_HW_CPU_CYCLES},
    Entry{"instructions", PERF_COUNT_HW_INSTRUCTIONS},
    Entry{"cache-references", PERF_COUNT_HW_CACHE_REFERENCES},
    Entry{"cache-misses", PERF_COUNT_HW_CACHE_MISSES},
    Entry{"branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    Entry{"branch-instructions", PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    Entry{"branch-misses", PERF_COUNT_HW_BRANCH_MISSES},
    Entry{"bus-cycles", PERF_COUNT_HW_BUS_CYCLES},
    Entry{"stalled-cycles-frontend", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    Entry{"idle-cycles-frontend", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    Entry{"stalled-cycles-backend", PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    Entry{"idle-cycles-backend", PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    Entry{"ref-cycles", PERF_COUNT_HW_REF_CPU_CYCLES},
};

constexpr std::uint64_t cgroup_switches = 11;  // newer than some kernel headers

constexpr std::array software = {
    Entry{"cpu-clock", PERF_COUNT_SW_CPU_CLOCK},
    Entry{"task-clock", PERF_COUNT_SW_TASK_CLOCK},
    Entry{"page-faults", PERF_COUNT_SW_PAGE_FAULTS},
    Entry{"faults", PERF_COUNT_SW_PAGE_FAULTS},
    Entry{"minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN},
    Entry{"major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    Entry{"context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES},
    Entry{"cs", PERF_COUNT_SW_CONTEXT_SWITCHES},
    Entry{"cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS},
    Entry{"migrations", PERF_COUNT_SW_CPU_MIGRATIONS},
    Entry{"alignment-faults", PERF_COUNT_SW_ALIGNMENT_FAULTS},
    Entry{"emulation-faults", PERF_COUNT_SW_EMULATION_FAULTS},
    Entry{"dummy", PERF_COUNT_SW_DUMMY},
    Entry{"bpf-output", PERF_COUNT_SW_BPF_OUTPUT},
    Entry{"cgroup-switches", cgroup_switches},
};

constexpr std::array caches = {
    Entry{"L1-dcache", PERF_COUNT_HW_CACHE_L1D}, Entry{"L1-icache", PERF_COUNT_HW_CACHE_L1I},
    Entry{"LLC", PERF_COUNT_HW_CACHE_LL},        Entry{"dTLB", PERF_COUNT_HW_CACHE_DTLB},
    Entry{"iTLB", PERF_COUNT_HW_CACHE_ITLB},     Entry{"branch", PERF_COUNT_HW_CACHE_BPU},
    Entry{"node", PERF_COUNT_HW_CACHE_NODE},
};

struct CacheOp {
    std::string_view accesses;
    std::string_view misses;
    std::uint64_t op;
};

constexpr std::array cache_ops = {
    CacheOp{"loads", "load-misses", PERF_COUNT_HW_CACHE_OP_READ},
    CacheOp{"stores", "store-misses", PERF_COUNT_HW_CACHE_OP_WRITE},
    CacheOp{"prefetches", "prefetch-misses", PERF_COUNT_HW_CACHE_OP_PREFETCH},
};

std::vector<GenericEvent> build() {
    constexpr unsigned op_shift = 8;
    constexpr unsigned result_shift = 16;
    std::vector<GenericEvent> events;
    events.reserve(hardware.size() + software.size() + caches.size() * cache_ops.size() * 2);
    for (const auto& [name, config] : hardware) {
        events.push_back({std::string(name), PERF_TYPE_HARDWARE, config});
    }
    for (const auto& [name, config] : software) {
        events.push_back({std::string(name), PERF_TYPE_SOFTWARE, config});
    }
    for (const auto& [cache, id] : caches) {
        for (const CacheOp& op : cache_ops) {
            const std::uint64_t config = id | (op.op << op_shift);
            events.push_back(
                {fmt::format("{}-{}", cache, op.accesses), PERF_TYPE_HW_CACHE, config});
            events.push_back(
                {fmt::format("{}-{}", cache, op.misses), PERF_TYPE_HW_CACHE,
                 config | (std::uint64_t{PERF_COUNT_HW_CACHE_RESULT_MISS} << result_shift)});
        }
    }
    return events;
}

}  // namespace

const std::vector<GenericEvent>& generic_events() {
    static const std::vector<GenericEvent> events = build();
    return events;
}

const GenericEvent* find_generic_event(std::string_view name) {
    const auto& events = generic_events();
    const auto found = std::find_if(events.begin(), events.end(),
                                    [&](const GenericEvent& event) { return event.name == name; });
    return found == events.end() ? nullptr : &*found;
}

}  // namespace metagroup::detail
