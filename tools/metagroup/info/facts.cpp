// SPDX-License-Identifier: MIT
#include "info/info.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/perf_metagroup.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <metagroup/cpu_list.hpp>
#include <metagroup/detail/unique_fd.hpp>
#include <metagroup/event_group.hpp>
#include <metagroup/event_spec.hpp>
#include <metagroup/known_events.hpp>
#include <metagroup/payload.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "common/command_line.hpp"
#include "common/counts.hpp"

namespace tool {
namespace {

namespace fs = std::filesystem;
using metagroup::CpuList;
using metagroup::EventGroup;
using metagroup::EventSpec;
using metagroup::GroupSpec;

struct Bit {
    std::uint64_t mask;
    std::string_view name;
};

constexpr unsigned kPerfmon = 38;  // newer than some kernel headers

// The capabilities on which the checks depend.
constexpr auto kCapabilities = std::to_array<Bit>({
    {1ULL << kPerfmon, "CAP_PERFMON"},
    {1ULL << CAP_SYS_ADMIN, "CAP_SYS_ADMIN"},
    {1ULL << CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE"},
    {1ULL << CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"},
});

constexpr auto kFeatures = std::to_array<Bit>({
    {PERF_METAGROUP_FEATURE_FRAMED, "framed"},
    {PERF_METAGROUP_FEATURE_SWEEP, "sweep"},
    {PERF_METAGROUP_FEATURE_MAP, "map"},
    {PERF_METAGROUP_FEATURE_QUIET, "quiet"},
    {PERF_METAGROUP_FEATURE_SKIP_ISOLATED, "skip-isolated"},
    {PERF_METAGROUP_FEATURE_STREAM, "stream"},
    {PERF_METAGROUP_FEATURE_SET, "set"},
    {PERF_METAGROUP_FEATURE_NAME, "name"},
});

// The contents of a file without trailing blanks.
std::optional<std::string> read(const fs::path& file) {
    std::ifstream stream(file);
    if (!stream) return std::nullopt;
    std::string text{std::istreambuf_iterator<char>(stream), {}};
    if (stream.bad()) return std::nullopt;
    text.erase(text.find_last_not_of(" \t\n") + 1);
    return text;
}

Json text(const fs::path& file) {
    const auto text = read(file);
    return text ? Json(*text) : Json(nullptr);
}

Json number(const fs::path& file) {
    long number = 0;
    return std::ifstream(file) >> number ? Json(number) : Json(nullptr);
}

// The value of the first line `name : value`.
Json field(const fs::path& file, std::string_view name) {
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t colon = line.find(':');
        if (colon == line.npos ||
            line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1) != name)
            continue;
        const std::size_t value = line.find_first_not_of(" \t", colon + 1);
        return value == line.npos ? "" : line.substr(value);
    }
    return nullptr;
}

// The names in a directory, sorted.
std::vector<std::string> list(const fs::path& directory) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error))
        names.push_back(entry->path().filename());
    std::ranges::sort(names);
    return names;
}

Json names_of(std::uint64_t bits, std::span<const Bit> known) {
    Json names = Json::array();
    for (const Bit& bit : known)
        if ((bits & bit.mask) != 0) names.push_back(bit.name);
    return names;
}

// Newer modules may have features that this program does not know.
Json features(std::uint64_t bits) {
    Json names = names_of(bits, kFeatures);
    for (const Bit& bit : kFeatures)
        bits &= ~bit.mask;
    if (bits != 0) names.push_back(fmt::format("{:#x}", bits));
    return names;
}

Json capabilities(const fs::path& root) {
    const Json mask = field(root / "proc/self/status", "CapEff");
    const std::string text = mask.is_null() ? "" : mask.get<std::string>();
    std::uint64_t bits = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), bits, 16).ec != std::errc{})
        return nullptr;
    return names_of(bits, kCapabilities);
}

Json in_virtual_machine(const Json& flags) {
    if (flags.is_null()) return nullptr;
    return (flags.get<std::string>() + ' ').find("hypervisor ") != std::string::npos;
}

Json count_places(const fs::path& root, AggrMode mode) {
    try {
        const fs::path sysfs = root / "sys/devices/system";
        const auto online = read(sysfs / "cpu/online");
        if (!online) return nullptr;
        return Aggregation(mode, CpuList::parse(*online), sysfs).places().size();
    } catch (const std::exception&) {
        return nullptr;
    }
}

// A list of CPUs as in sysfs; older kernels write "(null)" for an empty list.
Json cpus(const fs::path& root, const char* file) {
    Json list = text(root / "sys/devices/system/cpu" / file);
    if (list == "(null)") list = "";
    return list;
}

Json seccomp(const fs::path& root) {
    const Json mode = field(root / "proc/self/status", "Seccomp");
    if (mode == "0") return "off";
    if (mode == "1") return "strict";
    if (mode == "2") return "filter";
    return nullptr;
}

// Only the initial namespace maps the whole range of IDs to itself.
Json in_first_user_namespace(const fs::path& root) {
    std::ifstream map(root / "proc/self/uid_map");
    if (!map) return nullptr;
    std::uint64_t inside = 1;
    std::uint64_t outside = 1;
    std::uint64_t count = 0;
    map >> inside >> outside >> count;
    return inside == 0 && outside == 0 && count == UINT32_MAX;
}

// The word in brackets: [none] integrity confidentiality.
Json lockdown(const fs::path& root) {
    const auto text = read(root / "sys/kernel/security/lockdown");
    if (!text) return nullptr;
    const std::size_t open = text->find('[');
    const std::size_t close = text->find(']');
    if (open == text->npos || close == text->npos || close < open) return nullptr;
    return text->substr(open + 1, close - open - 1);
}

Json limit(rlim_t value) {
    return value == RLIM_INFINITY ? Json("unlimited") : Json(value);
}

// Bypasses the library, which rejects a module with another ABI.
std::optional<perf_metagroup_info> query_module(const std::string& device) {
    const metagroup::detail::UniqueFd fd(::open(device.c_str(), O_RDWR | O_CLOEXEC));
    perf_metagroup_info info{};
    info.size = sizeof(info);
    if (!fd || ::ioctl(fd.get(), PERF_METAGROUP_IOC_INFO, &info) != 0) return std::nullopt;
    return info;
}

// Mode, user and group; null if there is no such file.
Json permissions(const std::string& device) {
    constexpr mode_t bits = 07777;
    struct stat status {};
    if (::stat(device.c_str(), &status) != 0) return nullptr;
    return fmt::format("{:04o} {}:{}", status.st_mode & bits, status.st_uid, status.st_gid);
}

// Reads the group, since opening it does not prove that it fits: arm64 ignores the leader when it
// checks the size of a group.
bool counts(const EventSpec& event, std::size_t times, int cpu) {
    try {
        auto group = EventGroup::open(GroupSpec{std::vector<EventSpec>(times, event)}, cpu);
        group.enable();
        std::vector<std::byte> bytes(group.payload_size());
        const std::size_t got = group.read(bytes);
        const auto payload =
            metagroup::Payload::parse(std::span(bytes).first(got), group.read_format());
        return payload && payload->time_running().value_or(0) > 0;
    } catch (const std::system_error&) {
        return false;
    }
}

// The size of the largest group of one event that can be counted now, given other users of the PMU.
// Null if the event cannot be counted, or has no limit, like clocks.
Json largest_group(const std::string& name) {
    constexpr std::size_t endless = 32;
    const EventSpec event = metagroup::parse_events(name).front().events.front();
    const CpuList cpus = event.cpus.value_or(CpuList::online());
    const int cpu = cpus.empty() ? 0 : *cpus.begin();
    if (!counts(event, 1, cpu) || counts(event, endless, cpu)) return nullptr;
    std::size_t size = 1;
    while (counts(event, size + 1, cpu))
        ++size;
    return size;
}

Json counters(const std::vector<std::string>& events) {
    for (const std::string& name : events) {
        Json size = largest_group(name);
        if (!size.is_null()) return size;
    }
    return nullptr;
}

}  // namespace

Json kernel_facts(const fs::path& root) {
    utsname name{};
    ::uname(&name);
    return {{"release", name.release},
            {"version", name.version},
            {"architecture", name.machine},
            {"cpu-model", field(root / "proc/cpuinfo", "model name")},
            {"virtual-machine", in_virtual_machine(field(root / "proc/cpuinfo", "flags"))}};
}

Json cpu_facts(const fs::path& root) {
    return {{"possible", cpus(root, "possible")},
            {"present", cpus(root, "present")},
            {"online", cpus(root, "online")},
            {"offline", cpus(root, "offline")},
            {"cores", count_places(root, AggrMode::core)},
            {"sockets", count_places(root, AggrMode::socket)},
            {"nodes", count_places(root, AggrMode::node)},
            {"isolated", cpus(root, "isolated")},
            {"nohz-full", cpus(root, "nohz_full")}};
}

Json privilege_facts(const fs::path& root) {
    return {{"uid", ::getuid()},
            {"effective-uid", ::geteuid()},
            {"capabilities", capabilities(root)},
            {"first-user-namespace", in_first_user_namespace(root)},
            {"seccomp", seccomp(root)},
            {"lockdown", lockdown(root)},
            {"perf-event-paranoid", number(root / "proc/sys/kernel/perf_event_paranoid")},
            {"nmi-watchdog", number(root / "proc/sys/kernel/nmi_watchdog")}};
}

Json limit_facts() {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    Json facts{{"open-files-soft", limit(files.rlim_cur)},
               {"open-files-hard", limit(files.rlim_max)},
               {"needed-by-default-events", nullptr},
               {"needed-with-module", nullptr}};
    try {
        const auto options = Selection().options();
        std::size_t events = 0;
        for (const GroupSpec& group : options.groups)
            events += group.events.size();
        facts["needed-by-default-events"] = events * options.cpus->size();
        // The module itself keeps the leaders open.
        facts["needed-with-module"] = (events - options.groups.size()) * options.cpus->size();
    } catch (const std::exception&) {
        // The check of the default events reports the reason.
        return facts;
    }
    return facts;
}

Json module_facts(const std::string& device, const fs::path& root) {
    const fs::path module = root / "sys/module/perf_metagroup";
    const auto info = query_module(device);
    const auto answer = [&](auto value) { return info ? Json(value(*info)) : Json(nullptr); };
    const Json mode = permissions(device);
    std::error_code ignored;
    return {{"loaded", fs::exists(module, ignored)},
            {"version", text(module / "version")},
            {"source-version", text(module / "srcversion")},
            {"device", device},
            {"device-exists", !mode.is_null()},
            {"device-permissions", mode},
            {"answers", info.has_value()},
            {"abi", answer([](const auto& of) { return of.abi; })},
            {"features", answer([](const auto& of) { return features(of.features); })},
            {"max-members", answer([](const auto& of) { return of.max_members; })},
            {"max-members-per-cpu", answer([](const auto& of) { return of.max_per_cpu; })},
            {"max-snapshot-bytes", answer([](const auto& of) { return of.max_snapshot; })}};
}

Json pmu_facts(const fs::path& root) {
    const fs::path devices = root / "sys/bus/event_source/devices";
    const auto known = metagroup::known_events();
    Json pmus = Json::array();
    for (const std::string& name : list(devices)) {
        const fs::path pmu = devices / name;
        std::vector<std::string> events;
        for (const metagroup::KnownEvent& event : known)
            if (event.source == "sysfs" && event.pmu == name) events.push_back(event.name);
        const auto mask = read(pmu / "cpumask");
        Json caps = Json::object();
        for (const std::string& cap : list(pmu / "caps"))
            caps[cap] = text(pmu / "caps" / cap);
        pmus.push_back({{"pmu", name},
                        {"type", number(pmu / "type")},
                        {"cpus", (mask ? mask : read(pmu / "cpus")).value_or("all")},
                        {"events", events.size()},
                        {"counters", counters(events)},
                        {"caps", caps}});
    }
    return pmus;
}

}  // namespace tool
