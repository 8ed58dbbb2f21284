// SPDX-License-Identifier: MIT
// What this process may do: privileges and limits.
#include <linux/capability.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "info/facts.hpp"
#include "selection.hpp"

namespace tool {
namespace {

struct Capability {
    unsigned bit;
    std::string_view name;
};

constexpr unsigned kPerfmon = 38;  // newer than some kernel headers

// Those that decide what is tried below.
constexpr auto kCapabilities = std::to_array<Capability>({
    {kPerfmon, "CAP_PERFMON"},
    {CAP_SYS_ADMIN, "CAP_SYS_ADMIN"},
    {CAP_SYS_RESOURCE, "CAP_SYS_RESOURCE"},
    {CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"},
});

// What /proc/self/status says of a field.
std::string field(const System& system, const std::string& name) {
    std::istringstream lines(system.read("proc/self/status").value_or(""));
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(name + ':')) continue;
        const std::size_t value = line.find_first_not_of(" \t", name.size() + 1);
        return value == line.npos ? "" : line.substr(value);
    }
    return "";
}

Json capabilities(const std::string& mask) {
    constexpr int hexadecimal = 16;
    std::uint64_t bits = 0;
    if (std::from_chars(mask.data(), mask.data() + mask.size(), bits, hexadecimal).ec !=
        std::errc{})
        return nullptr;
    Json held = Json::array();
    for (const Capability& capability : kCapabilities) {
        if ((bits >> capability.bit & 1U) != 0) held.push_back(capability.name);
    }
    return held;
}

Json seccomp(const std::string& mode) {
    if (mode == "0") return "off";
    if (mode == "1") return "strict";
    if (mode == "2") return "filter";
    return nullptr;
}

// The whole range of numbers stands for itself in the first namespace only.
Json in_first_user_namespace(const System& system) {
    const auto map = system.read("proc/self/uid_map");
    if (!map) return nullptr;
    std::istringstream words(*map);
    std::uint64_t inside = 1;
    std::uint64_t outside = 1;
    std::uint64_t count = 0;
    words >> inside >> outside >> count;
    return inside == 0 && outside == 0 && count == UINT32_MAX;
}

// The word in brackets: [none] integrity confidentiality.
Json lockdown(const System& system) {
    const auto text = system.read("sys/kernel/security/lockdown");
    if (!text) return nullptr;
    const std::size_t open = text->find('[');
    const std::size_t close = text->find(']');
    if (open == text->npos || close == text->npos || close < open) return nullptr;
    return text->substr(open + 1, close - open - 1);
}

Json limit(rlim_t value) {
    return value == RLIM_INFINITY ? Json("unlimited") : Json(value);
}

}  // namespace

Json privilege_facts(const System& system) {
    return {{"uid", ::getuid()},
            {"effective-uid", ::geteuid()},
            {"capabilities", capabilities(field(system, "CapEff"))},
            {"first-user-namespace", in_first_user_namespace(system)},
            {"seccomp", seccomp(field(system, "Seccomp"))},
            {"lockdown", lockdown(system)},
            {"perf-event-paranoid", system.number("proc/sys/kernel/perf_event_paranoid")},
            {"nmi-watchdog", system.number("proc/sys/kernel/nmi_watchdog")}};
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
        for (const metagroup::GroupSpec& group : options.groups)
            events += group.events.size();
        facts["needed-by-default-events"] = events * options.cpus.size();
        // The module holds the leaders by itself.
        facts["needed-with-module"] = (events - options.groups.size()) * options.cpus.size();
    } catch (const std::exception&) {
        // What is counted by default is tried, too: there the reason is told.
        return facts;
    }
    return facts;
}

}  // namespace tool
