// SPDX-License-Identifier: MIT
// The steps of parse_events(): list and groups, one event, its modifiers.
#pragma once

#include <cstddef>
#include <metagroup/event_spec.hpp>
#include <metagroup/known_events.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "system.hpp"

namespace metagroup::detail {

inline constexpr const char* see_list = "see \"metagroup list\" for what there is";

/// parse_events() of a system that tests can choose.
std::vector<GroupSpec> parse_events(std::string_view text, const SystemPaths& paths);

/// One event, modifiers included. Throws SpecError, counted from the word's start.
EventSpec resolve_event(std::string_view word, const SystemPaths& paths);

/// The modifiers behind an event or a group: `ukp`.
struct Modifiers {
    bool user = false;
    bool kernel = false;
    bool hypervisor = false;
    bool guest = false;
    bool host = false;
    bool not_idle = false;
    bool pinned = false;
    bool exclusive = false;
    unsigned precise = 0;
};

/// True if the text is made of modifier letters only, and not empty.
bool looks_like_modifiers(std::string_view text) noexcept;

/// Reads the letters. Throws SpecError, counted from `offset`.
Modifiers parse_modifiers(std::string_view text, std::size_t offset);

/// Applies them as perf does: the first of u, k, h excludes the others, and further ones, say of
/// the group, add to them.
void apply_modifiers(const Modifiers& modifiers, perf_event_attr& attr);

/// known_events() of a system that tests can choose.
std::vector<KnownEvent> known_events(const SystemPaths& paths);

/// All names that may have been meant, also those that are refused without a unit mask.
std::vector<std::string> event_names(const SystemPaths& paths);

}  // namespace metagroup::detail
