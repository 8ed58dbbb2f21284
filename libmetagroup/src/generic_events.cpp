// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "event_sources.hpp"
#include "format.hpp"

namespace metagroup::detail {
namespace {

struct Entry {
    std::string_view name;
    std::uint64_t config;
    std::string_view description;  // of a cache: its name in full
};

constexpr std::array hardware = {
    Entry{"cycles", PERF_COUNT_HW_CPU_CYCLES, "CPU cycles; their length follows the frequency"},
    Entry{"cpu-cycles", PERF_COUNT_HW_CPU_CYCLES, "the same as cycles"},
    Entry{"instructions", PERF_COUNT_HW_INSTRUCTIONS, "instructions retired"},
    Entry{"cache-references", PERF_COUNT_HW_CACHE_REFERENCES,
          "accesses to the last-level cache, on most CPUs"},
    Entry{"cache-misses", PERF_COUNT_HW_CACHE_MISSES,
          "misses of the last-level cache, on most CPUs"},
    Entry{"branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "branch instructions retired"},
    Entry{"branch-instructions", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "the same as branches"},
    Entry{"branch-misses", PERF_COUNT_HW_BRANCH_MISSES, "branches predicted wrong"},
    Entry{"bus-cycles", PERF_COUNT_HW_BUS_CYCLES,
          "cycles of the bus; their length is fixed on most CPUs"},
    Entry{"stalled-cycles-frontend", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND,
          "cycles without an instruction from the front end: fetch and decode"},
    Entry{"idle-cycles-frontend", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND,
          "the same as stalled-cycles-frontend"},
    Entry{"stalled-cycles-backend", PERF_COUNT_HW_STALLED_CYCLES_BACKEND,
          "cycles in which the back end, the execution units, took none"},
    Entry{"idle-cycles-backend", PERF_COUNT_HW_STALLED_CYCLES_BACKEND,
          "the same as stalled-cycles-backend"},
    Entry{"ref-cycles", PERF_COUNT_HW_REF_CPU_CYCLES,
          "cycles at a fixed frequency while not halted"},
};

constexpr std::uint64_t cgroup_switches = 11;  // newer than some kernel headers

constexpr std::array software = {
    Entry{"cpu-clock", PERF_COUNT_SW_CPU_CLOCK,
          "nanoseconds by the high-resolution timer of each CPU"},
    Entry{"task-clock", PERF_COUNT_SW_TASK_CLOCK,
          "nanoseconds in which the event was on its CPU; system wide as cpu-clock"},
    Entry{"page-faults", PERF_COUNT_SW_PAGE_FAULTS, "page faults"},
    Entry{"faults", PERF_COUNT_SW_PAGE_FAULTS, "the same as page-faults"},
    Entry{"minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN, "page faults that took no I/O"},
    Entry{"major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ, "page faults that took I/O"},
    Entry{"context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES, "switches from one task to another"},
    Entry{"cs", PERF_COUNT_SW_CONTEXT_SWITCHES, "the same as context-switches"},
    Entry{"cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS, "moves of tasks to another CPU"},
    Entry{"migrations", PERF_COUNT_SW_CPU_MIGRATIONS, "the same as cpu-migrations"},
    Entry{"alignment-faults", PERF_COUNT_SW_ALIGNMENT_FAULTS,
          "unaligned accesses that the kernel fixed up; none on x86"},
    Entry{"emulation-faults", PERF_COUNT_SW_EMULATION_FAULTS,
          "instructions that the kernel emulated"},
    Entry{"dummy", PERF_COUNT_SW_DUMMY, "counts nothing; a placeholder"},
    Entry{"bpf-output", PERF_COUNT_SW_BPF_OUTPUT,
          "output of BPF programs; counts nothing by itself"},
    Entry{"cgroup-switches", cgroup_switches,
          "switches to a task of another cgroup; since Linux 5.13"},
};

constexpr std::array caches = {
    Entry{"L1-dcache", PERF_COUNT_HW_CACHE_L1D, "L1 data cache"},
    Entry{"L1-icache", PERF_COUNT_HW_CACHE_L1I, "L1 instruction cache"},
    Entry{"LLC", PERF_COUNT_HW_CACHE_LL, "last-level cache"},
    Entry{"dTLB", PERF_COUNT_HW_CACHE_DTLB, "TLB for data"},
    Entry{"iTLB", PERF_COUNT_HW_CACHE_ITLB, "TLB for instructions"},
    Entry{"branch", PERF_COUNT_HW_CACHE_BPU, "branch predictor"},
    Entry{"node", PERF_COUNT_HW_CACHE_NODE, "local memory of the node"},
};

struct CacheResult {
    std::string_view name;
    std::uint64_t op;
    std::uint64_t result;
};

constexpr std::uint64_t access = PERF_COUNT_HW_CACHE_RESULT_ACCESS;
constexpr std::uint64_t miss = PERF_COUNT_HW_CACHE_RESULT_MISS;

constexpr std::array cache_results = {
    CacheResult{"loads", PERF_COUNT_HW_CACHE_OP_READ, access},
    CacheResult{"load-misses", PERF_COUNT_HW_CACHE_OP_READ, miss},
    CacheResult{"stores", PERF_COUNT_HW_CACHE_OP_WRITE, access},
    CacheResult{"store-misses", PERF_COUNT_HW_CACHE_OP_WRITE, miss},
    CacheResult{"prefetches", PERF_COUNT_HW_CACHE_OP_PREFETCH, access},
    CacheResult{"prefetch-misses", PERF_COUNT_HW_CACHE_OP_PREFETCH, miss},
};

std::vector<GenericEvent> build() {
    constexpr unsigned op_shift = 8;
    constexpr unsigned result_shift = 16;
    std::vector<GenericEvent> events;
    const auto add = [&](std::string_view name, std::uint32_t type, std::uint64_t config,
                         std::string_view description) {
        events.push_back({std::string(name), type, config, std::string(description)});
    };
    for (const auto& [name, config, description] : hardware)
        add(name, PERF_TYPE_HARDWARE, config, description);
    for (const auto& [name, config, description] : software)
        add(name, PERF_TYPE_SOFTWARE, config, description);
    for (const auto& [cache, id, full_name] : caches) {
        for (const auto& [kind, op, result] : cache_results)
            add(detail::format("{}-{}", cache, kind), PERF_TYPE_HW_CACHE,
                id | op << op_shift | result << result_shift,
                detail::format("{}: {}", full_name, kind));
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
