// SPDX-License-Identifier: MIT
// The letters behind an event: `cycles:ukp`.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace metagroup::detail {

/// What the letters ask for.
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

/// Whether the text is made of modifier letters only, and not empty.
bool looks_like_modifiers(std::string_view text) noexcept;

/// Reads the letters. Throws SpecError, counted from `offset`.
Modifiers parse_modifiers(std::string_view text, std::size_t offset);

/// Applies them as perf does: the first of u, k, h excludes the others, and further ones, say of
/// the group, add to them.
void apply_modifiers(const Modifiers& modifiers, perf_event_attr& attr);

}  // namespace metagroup::detail
