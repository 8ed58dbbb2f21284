// SPDX-License-Identifier: MIT
#include "tracepoint.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

#include "error.hpp"
#include "formatted.hpp"
#include "suggestion.hpp"

namespace metagroup::detail {
namespace {

// Where tracefs is mounted: the directory with the events. Nothing if nowhere, or not for us.
std::optional<std::string> events_directory(const SystemPaths& paths) {
    for (const std::string& root : paths.tracefs) {
        if (!list_directory(root + "/events").empty()) return root + "/events";
    }
    return std::nullopt;
}

std::optional<std::string> read_id(const std::string& file) {
    try {
        return read_file(file);
    } catch (const std::system_error& error) {
        const int cause = error.code().value();
        if (cause != EACCES && cause != EPERM) throw;
        throw_errno(cause, formatted("cannot read {}: run as root, or remount tracefs for your "
                                     "group (mount -o remount,gid=GROUP,mode=750)",
                                     file));
    }
}

}  // namespace

bool is_tracepoint_system(std::string_view system, const SystemPaths& paths) {
    if (!is_file_name(system)) return false;
    return std::ranges::any_of(paths.tracefs, [&](const std::string& root) {
        std::error_code ignored;
        return std::filesystem::is_directory(formatted("{}/events/{}", root, system), ignored);
    });
}

std::uint64_t tracepoint_id(std::string_view system, std::string_view name, std::size_t offset,
                            const SystemPaths& paths) {
    if (is_file_name(system) && is_file_name(name)) {
        // Asked for by name first: a directory may be open for that and closed for listing.
        for (const std::string& root : paths.tracefs) {
            const auto text = read_id(formatted("{}/events/{}/{}/id", root, system, name));
            if (!text) continue;
            std::uint64_t id = 0;
            const char* const last = text->data() + text->size();
            const auto [end, error] = std::from_chars(text->data(), last, id);
            if (error == std::errc{} && end == last) return id;
        }
    }
    const std::string full = formatted("{}:{}", system, name);
    if (!events_directory(paths)) {
        throw SpecError(offset, formatted("\"{}\" is no event of this machine; if it is a "
                                          "tracepoint, it cannot be looked up: tracefs is not "
                                          "mounted or not readable (as root: mount -t tracefs "
                                          "nodev /sys/kernel/tracing)",
                                          full));
    }
    throw SpecError(offset, formatted("there is no tracepoint or event \"{}\"{}", full,
                                      did_you_mean(full, tracepoint_names(paths))));
}

std::vector<std::string> tracepoint_names(const SystemPaths& paths) {
    std::vector<std::string> names;
    const auto events = events_directory(paths);
    if (!events) return names;
    for (const std::string& system : list_directory(*events)) {
        for (const std::string& name : list_directory(*events + "/" + system)) {
            // Control files have none, nor have the events of ftrace itself, which perf cannot
            // open.
            std::error_code ignored;
            if (std::filesystem::exists(formatted("{}/{}/{}/id", *events, system, name), ignored))
                names.push_back(formatted("{}:{}", system, name));
        }
    }
    return names;
}

}  // namespace metagroup::detail
