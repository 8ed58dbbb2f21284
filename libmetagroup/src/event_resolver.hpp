// SPDX-License-Identifier: MIT
// From the text of one event to what perf_event_open(2) needs.
#pragma once

#include <metagroup/event_spec.hpp>
#include <string_view>
#include <vector>

#include "file.hpp"

namespace metagroup::detail {

/// Resolves one event, modifiers included. Throws SpecError, counted from the word's start.
EventSpec resolve_event(std::string_view word, const SystemPaths& paths);

/// parse_events() with a system that tests can choose.
std::vector<GroupSpec> parse_events(std::string_view text, const SystemPaths& paths);

}  // namespace metagroup::detail
