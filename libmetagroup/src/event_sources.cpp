// SPDX-License-Identifier: MIT
// Events from perf itself, libpfm4 and tracefs.
#include "event_sources.hpp"  // includes linux/perf_event.h before libpfm4 uses its own copy

#include <perfmon/pfmlib_perf_event.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <metagroup/suggestion.hpp>
#include <system_error>

#include "format.hpp"

namespace metagroup::detail {
namespace {

struct Entry {
    std::string_view name;
    std::uint64_t config;
    std::string_view description;  // for a cache: its full name
};

constexpr std::array hardware = {
    Entry{"cycles", PERF_COUNT_HW_CPU_CYCLES, "CPU cycles, affected by frequency scaling"},
    Entry{"cpu-cycles", PERF_COUNT_HW_CPU_CYCLES, "the same as cycles"},
    Entry{"instructions", PERF_COUNT_HW_INSTRUCTIONS, "instructions retired"},
    Entry{"cache-references", PERF_COUNT_HW_CACHE_REFERENCES,
          "accesses to the last-level cache, on most CPUs"},
    Entry{"cache-misses", PERF_COUNT_HW_CACHE_MISSES,
          "misses of the last-level cache, on most CPUs"},
    Entry{"branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "branch instructions retired"},
    Entry{"branch-instructions", PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "the same as branches"},
    Entry{"branch-misses", PERF_COUNT_HW_BRANCH_MISSES, "mispredicted branches"},
    Entry{"bus-cycles", PERF_COUNT_HW_BUS_CYCLES, "bus cycles, at a fixed frequency on most CPUs"},
    Entry{"stalled-cycles-frontend", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND,
          "cycles stalled in the front end: fetch and decode"},
    Entry{"idle-cycles-frontend", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND,
          "the same as stalled-cycles-frontend"},
    Entry{"stalled-cycles-backend", PERF_COUNT_HW_STALLED_CYCLES_BACKEND,
          "cycles stalled in the back end: execution"},
    Entry{"idle-cycles-backend", PERF_COUNT_HW_STALLED_CYCLES_BACKEND,
          "the same as stalled-cycles-backend"},
    Entry{"ref-cycles", PERF_COUNT_HW_REF_CPU_CYCLES,
          "cycles at a fixed frequency while not halted"},
};

constexpr std::uint64_t cgroup_switches = 11;  // newer than some kernel headers

constexpr std::array software = {
    Entry{"cpu-clock", PERF_COUNT_SW_CPU_CLOCK,
          "nanoseconds, by a high-resolution timer on each CPU"},
    Entry{"task-clock", PERF_COUNT_SW_TASK_CLOCK,
          "nanoseconds during which the task ran; system-wide the same as cpu-clock"},
    Entry{"page-faults", PERF_COUNT_SW_PAGE_FAULTS, "page faults"},
    Entry{"faults", PERF_COUNT_SW_PAGE_FAULTS, "the same as page-faults"},
    Entry{"minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN, "page faults without I/O"},
    Entry{"major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ, "page faults with I/O"},
    Entry{"context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES, "switches from one task to another"},
    Entry{"cs", PERF_COUNT_SW_CONTEXT_SWITCHES, "the same as context-switches"},
    Entry{"cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS, "moves of tasks to another CPU"},
    Entry{"migrations", PERF_COUNT_SW_CPU_MIGRATIONS, "the same as cpu-migrations"},
    Entry{"alignment-faults", PERF_COUNT_SW_ALIGNMENT_FAULTS,
          "unaligned accesses fixed up by the kernel; none on x86"},
    Entry{"emulation-faults", PERF_COUNT_SW_EMULATION_FAULTS,
          "instructions emulated by the kernel"},
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
    Entry{"dTLB", PERF_COUNT_HW_CACHE_DTLB, "data TLB"},
    Entry{"iTLB", PERF_COUNT_HW_CACHE_ITLB, "instruction TLB"},
    Entry{"branch", PERF_COUNT_HW_CACHE_BPU, "branch predictor"},
    Entry{"node", PERF_COUNT_HW_CACHE_NODE, "local memory node"},
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

namespace {

// libpfm4 has global tables. They are not freed: other code in the process may use them.
bool initialized() {
    static const bool done = pfm_initialize() == PFM_SUCCESS;
    return done;
}

std::string or_empty(const char* text) {
    return text == nullptr ? "" : text;
}

// Skips the attributes that are modifiers.
std::vector<PfmEvent> unit_masks(const std::string& event) {
    std::vector<PfmEvent> masks;
    const int index = pfm_find_event(event.c_str());
    if (index < 0) return masks;
    pfm_event_info_t info{};
    info.size = sizeof(info);
    if (pfm_get_event_info(index, PFM_OS_PERF_EVENT_EXT, &info) != PFM_SUCCESS) return masks;
    for (int i = 0; i < info.nattrs; ++i) {
        pfm_event_attr_info_t attribute{};
        attribute.size = sizeof(attribute);
        if (pfm_get_event_attr_info(index, i, PFM_OS_PERF_EVENT_EXT, &attribute) != PFM_SUCCESS ||
            attribute.name == nullptr || attribute.type != PFM_ATTR_UMASK) {
            continue;
        }
        masks.push_back({{}, attribute.name, or_empty(attribute.desc)});
    }
    return masks;
}

// `pmu::EVENT` of `pmu::EVENT:MASK:u=1`.
std::string event_part(std::string_view event) {
    const std::size_t pmu = event.find("::");
    return std::string(event.substr(0, event.find(':', pmu == event.npos ? 0 : pmu + 2)));
}

Diagnosis refusal(std::string_view event, int error) {
    constexpr std::size_t most = 12;
    const std::string base = event_part(event);
    std::vector<std::string> masks;
    for (PfmEvent& mask : unit_masks(base))
        masks.push_back(std::move(mask.name));
    std::string remedy;
    if (event.size() > base.size())
        remedy = did_you_mean(event.substr(event.rfind(':') + 1), masks, {});
    for (std::size_t i = 0; i < std::min(most, masks.size()); ++i)
        remedy += (i > 0 ? ", " : remedy.empty() ? "unit masks: " : " unit masks: ") + masks[i];
    if (masks.size() > most) remedy += ", ...";
    return {Cause::unknown_event,
            detail::format("libpfm4 knows event \"{}\", but rejects \"{}\": {}", base, event,
                           pfm_strerror(error)),
            std::move(remedy)};
}

}  // namespace

PfmResult pfm_encode(std::string_view event, perf_event_attr& attr) {
    if (!initialized()) return {};
    const std::string text(event);
    perf_event_attr encoded{};
    encoded.size = sizeof(encoded);
    pfm_perf_encode_arg_t argument{};
    argument.size = sizeof(argument);
    argument.attr = &encoded;
    const int result = pfm_get_os_event_encoding(text.c_str(), PFM_PLM0 | PFM_PLM3 | PFM_PLMH,
                                                 PFM_OS_PERF_EVENT_EXT, &argument);
    if (result == PFM_ERR_NOTFOUND) return {};
    if (result != PFM_SUCCESS) return {PfmStatus::refused, refusal(event, result)};
    if (encoded.sample_period != 0 || argument.cpu >= 0)
        return {PfmStatus::refused,
                {Cause::syntax, "periods, frequencies and CPUs are not part of an event here",
                 "remove \"period=\", \"freq=\" and \"cpu=\""}};
    // libpfm4 excludes guests by default, perf does not. Only explicit modifiers filter.
    if (text.find(":mg") == std::string::npos && text.find(":mh") == std::string::npos) {
        encoded.exclude_guest = 0;
        encoded.exclude_host = 0;
    }
    encoded.size = sizeof(encoded);
    attr = encoded;
    return {PfmStatus::ok, {}};
}

std::vector<PfmEvent> pfm_events() {
    std::vector<PfmEvent> events;
    if (!initialized()) return events;
    for (int number = PFM_PMU_NONE; number < PFM_PMU_MAX; ++number) {
        pfm_pmu_info_t pmu{};
        pmu.size = sizeof(pmu);
        if (pfm_get_pmu_info(static_cast<pfm_pmu_t>(number), &pmu) != PFM_SUCCESS ||
            pmu.is_present == 0) {
            continue;
        }
        for (int index = pmu.first_event; index != -1; index = pfm_get_event_next(index)) {
            pfm_event_info_t info{};
            info.size = sizeof(info);
            if (pfm_get_event_info(index, PFM_OS_PERF_EVENT_EXT, &info) == PFM_SUCCESS &&
                info.name != nullptr && *info.name != '\0') {
                events.push_back({pmu.name, info.name, or_empty(info.desc)});
            }
        }
    }
    return events;
}

std::set<std::string> shared_names(std::span<const PfmEvent> events) {
    std::set<std::string> seen;
    std::set<std::string> shared;
    for (const PfmEvent& event : events) {
        if (!seen.insert(event.name).second) shared.insert(event.name);
    }
    return shared;
}

std::vector<PfmEvent> pfm_variants(const PfmEvent& event) {
    std::vector<PfmEvent> variants;
    const std::string full = detail::format("{}::{}", event.pmu, event.name);
    perf_event_attr ignored{};
    if (pfm_encode(full, ignored).status == PfmStatus::ok) variants.push_back(event);
    for (const PfmEvent& mask : unit_masks(full)) {
        if (pfm_encode(detail::format("{}:{}", full, mask.name), ignored).status != PfmStatus::ok)
            continue;
        variants.push_back({event.pmu, detail::format("{}:{}", event.name, mask.name),
                            detail::format("{}: {}", event.description, mask.description)});
    }
    return variants;
}

bool is_tracepoint_system(std::string_view system, const SystemPaths& paths) {
    return is_file_name(system) && std::ranges::any_of(paths.tracefs, [&](const std::string& root) {
               std::error_code ignored;
               return std::filesystem::is_directory(detail::format("{}/events/{}", root, system),
                                                    ignored);
           });
}

std::uint64_t tracepoint_id(std::string_view system, std::string_view name,
                            const SystemPaths& paths) {
    if (is_file_name(system) && is_file_name(name)) {
        // Opened by name: the directory may be searchable but not readable.
        for (const std::string& root : paths.tracefs) {
            const auto text = read_file(detail::format("{}/events/{}/{}/id", root, system, name),
                                        Call::read_tracefs);
            if (!text) continue;
            std::uint64_t id = 0;
            const char* const last = text->data() + text->size();
            const auto [end, error] = std::from_chars(text->data(), last, id);
            if (error == std::errc{} && end == last) return id;
        }
    }
    const std::string full = detail::format("{}:{}", system, name);
    const std::vector<std::string> names = tracepoint_names(paths);
    if (names.empty())
        throw SpecError(0, {Cause::unknown_event,
                            detail::format("unknown event \"{}\"; if it is a tracepoint, it cannot "
                                           "be looked up: tracefs is not mounted or not readable",
                                           full),
                            "mount tracefs (mount -t tracefs nodev /sys/kernel/tracing), and run "
                            "as root or in the group of the mount (gid=)"});
    throw SpecError(0, {Cause::unknown_event, detail::format("unknown event \"{}\"", full),
                        did_you_mean(full, names, see_list)});
}

std::vector<std::string> tracepoint_names(const SystemPaths& paths) {
    std::vector<std::string> names;
    for (const std::string& root : paths.tracefs) {
        const std::string events = root + "/events";
        for (const std::string& system : list_directory(events)) {
            for (const std::string& name :
                 list_directory(detail::format("{}/{}", events, system))) {
                // Control files have no id, and neither do ftrace's own events, which perf cannot
                // open.
                std::error_code ignored;
                if (std::filesystem::exists(detail::format("{}/{}/{}/id", events, system, name),
                                            ignored))
                    names.push_back(detail::format("{}:{}", system, name));
            }
        }
        if (!names.empty()) break;
    }
    return names;
}

}  // namespace metagroup::detail
