// SPDX-License-Identifier: MIT
// The module perf_metagroup. Asked without the library, which refuses one of another ABI.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/perf_metagroup.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <array>
#include <metagroup/detail/unique_fd.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "info/facts.hpp"

namespace tool {
namespace {

struct Feature {
    __u64 bit;
    std::string_view name;
};

constexpr auto kFeatures = std::to_array<Feature>({
    {PERF_METAGROUP_FEATURE_FRAMED, "framed"},
    {PERF_METAGROUP_FEATURE_SWEEP, "sweep"},
    {PERF_METAGROUP_FEATURE_MAP, "map"},
    {PERF_METAGROUP_FEATURE_QUIET, "quiet"},
    {PERF_METAGROUP_FEATURE_SPARE_ISOLATED, "spare-isolated"},
});

Json features(__u64 bits) {
    Json names = Json::array();
    for (const Feature& feature : kFeatures) {
        if ((bits & feature.bit) != 0) names.push_back(feature.name);
        bits &= ~feature.bit;
    }
    // Of a module that is newer than this program.
    if (bits != 0) names.push_back(fmt::format("{:#x}", bits));
    return names;
}

std::optional<perf_metagroup_info> ask(const std::string& device) {
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

}  // namespace

Json module_facts(const System& system, const std::string& device) {
    const std::string module = "sys/module/perf_metagroup";
    const auto info = ask(device);
    const auto told = [&](auto value) { return info ? Json(value(*info)) : Json(nullptr); };
    const Json mode = permissions(device);
    return {{"loaded", system.has(module)},
            {"version", system.text(module + "/version")},
            {"source-version", system.text(module + "/srcversion")},
            {"device", device},
            {"device-exists", !mode.is_null()},
            {"device-permissions", mode},
            {"answers", info.has_value()},
            {"abi", told([](const auto& answer) { return answer.abi; })},
            {"features", told([](const auto& answer) { return features(answer.features); })},
            {"max-members", told([](const auto& answer) { return answer.max_members; })},
            {"max-members-per-cpu", told([](const auto& answer) { return answer.max_per_cpu; })},
            {"max-snapshot-bytes", told([](const auto& answer) { return answer.max_snapshot; })}};
}

}  // namespace tool
