// SPDX-License-Identifier: MIT
// Small files of sysfs, procfs and tracefs, and where they are.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace metagroup::detail {

/// Where the kernel describes itself. Tests put a tree of their own here.
struct SystemPaths {
    std::string pmus = "/sys/bus/event_source/devices";
    std::string cpus = "/sys/devices/system/cpu";
    std::vector<std::string> tracefs = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
};

/// Whether it can be the name of a file in a directory, and of nothing elsewhere: no path, not
/// hidden, no NUL, at which it would end.
bool is_file_name(std::string_view name);

/// The file without blanks at its end; nothing if it does not exist.
/// Throws std::system_error if it exists and cannot be read.
std::optional<std::string> read_file(const std::string& path);

/// The names in a directory, sorted, without those that begin with a dot; none if it cannot be
/// read.
std::vector<std::string> list_directory(const std::string& path);

}  // namespace metagroup::detail
