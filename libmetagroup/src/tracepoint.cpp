// SPDX-License-Identifier: MIT
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "event_parser.hpp"
#include "event_sources.hpp"
#include "format.hpp"
#include "suggestion.hpp"

namespace metagroup::detail {

namespace fs = std::filesystem;

bool is_tracepoint_system(std::string_view system, const SystemPaths& paths) {
    return is_file_name(system) && std::ranges::any_of(paths.tracefs, [&](const std::string& root) {
               std::error_code ignored;
               return fs::is_directory(detail::format("{}/events/{}", root, system), ignored);
           });
}

std::uint64_t tracepoint_id(std::string_view system, std::string_view name,
                            const SystemPaths& paths) {
    if (is_file_name(system) && is_file_name(name)) {
        // Opened by name: a directory may be searchable and not readable.
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
        throw SpecError(
            0, {Cause::unknown_event,
                detail::format("unknown event \"{}\"; if it is a tracepoint, it cannot be looked "
                               "up: tracefs is not mounted or not readable",
                               full),
                "mount tracefs (mount -t tracefs nodev /sys/kernel/tracing), and be root or of the "
                "group that it is mounted for (gid=)"});
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
                // Control files have no id, nor have the events of ftrace itself, which perf
                // cannot open.
                std::error_code ignored;
                if (fs::exists(detail::format("{}/{}/{}/id", events, system, name), ignored))
                    names.push_back(detail::format("{}:{}", system, name));
            }
        }
        if (!names.empty()) break;
    }
    return names;
}

}  // namespace metagroup::detail
