// SPDX-License-Identifier: MIT
// Tracepoints, which tracefs numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "file.hpp"

namespace metagroup::detail {

/// Whether tracefs has tracepoints of that system; false if tracefs is not for us to see.
bool is_tracepoint_system(std::string_view system, const SystemPaths& paths);

/// The number of tracepoint `system:name`, for perf_event_attr.config.
/// Throws SpecError at `offset` if tracefs has none or is not there, std::system_error if it
/// cannot be read.
std::uint64_t tracepoint_id(std::string_view system, std::string_view name, std::size_t offset,
                            const SystemPaths& paths);

/// All of them as `system:name`, sorted; none if tracefs cannot be read.
std::vector<std::string> tracepoint_names(const SystemPaths& paths);

}  // namespace metagroup::detail
