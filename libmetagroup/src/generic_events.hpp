// SPDX-License-Identifier: MIT
// The names that perf gives to events of every machine: `cycles`, `page-faults`…
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace metagroup::detail {

struct GenericEvent {
    std::string name;
    std::uint32_t type;
    std::uint64_t config;
    std::string description;
};

/// All of them; each name once, aliases too.
const std::vector<GenericEvent>& generic_events();

/// The one of that name, nullptr if there is none.
const GenericEvent* find_generic_event(std::string_view name);

}  // namespace metagroup::detail
