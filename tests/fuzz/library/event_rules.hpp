// SPDX-License-Identifier: MIT
// The rules of every list of events.
#pragma once

#include <string_view>

#include "system.hpp"

namespace metagroup::fuzz {

/// Reads the list on that system, or has it refused with a place in the text.
void read_events(std::string_view text, const detail::SystemPaths& paths);

}  // namespace metagroup::fuzz
