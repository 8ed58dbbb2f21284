// SPDX-License-Identifier: MIT
#include "modifiers.hpp"

#include "error.hpp"
#include "formatted.hpp"

namespace metagroup::detail {
namespace {

constexpr std::string_view known = "ukhGHIDep";
constexpr std::string_view explanation =
    "u user, k kernel, h hypervisor, G guest, H host, I not while idle, p precise, D pinned, "
    "e exclusive";

bool* flag(Modifiers& modifiers, char letter) noexcept {
    switch (letter) {
        case 'u':
            return &modifiers.user;
        case 'k':
            return &modifiers.kernel;
        case 'h':
            return &modifiers.hypervisor;
        case 'G':
            return &modifiers.guest;
        case 'H':
            return &modifiers.host;
        case 'I':
            return &modifiers.not_idle;
        case 'D':
            return &modifiers.pinned;
        case 'e':
            return &modifiers.exclusive;
        default:
            return nullptr;
    }
}

}  // namespace

bool looks_like_modifiers(std::string_view text) noexcept {
    return !text.empty() && text.find_first_not_of(known) == std::string_view::npos;
}

Modifiers parse_modifiers(std::string_view text, std::size_t offset) {
    constexpr unsigned max_precise = 3;
    Modifiers modifiers;
    if (text.empty()) {
        throw SpecError(offset, formatted("modifiers are missing behind ':': {}", explanation));
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char letter = text[i];
        if (letter == 'p') {
            if (++modifiers.precise > max_precise) {
                throw SpecError(offset + i, "modifier 'p' stands more than 3 times");
            }
            continue;
        }
        bool* const wanted = flag(modifiers, letter);
        if (wanted == nullptr) {
            throw SpecError(offset + i, formatted("unknown modifier '{}' in \"{}\": there are {}",
                                                  letter, text, explanation));
        }
        if (*wanted) {
            throw SpecError(offset + i, formatted("modifier '{}' stands twice", letter));
        }
        *wanted = true;
    }
    return modifiers;
}

void apply_modifiers(const Modifiers& modifiers, perf_event_attr& attr) {
    if (modifiers.user || modifiers.kernel || modifiers.hypervisor) {
        if (attr.exclude_user == 0 && attr.exclude_kernel == 0 && attr.exclude_hv == 0) {
            attr.exclude_user = attr.exclude_kernel = attr.exclude_hv = 1;
        }
        if (modifiers.user) attr.exclude_user = 0;
        if (modifiers.kernel) attr.exclude_kernel = 0;
        if (modifiers.hypervisor) attr.exclude_hv = 0;
    }
    if (modifiers.guest || modifiers.host) {
        if (attr.exclude_guest == 0 && attr.exclude_host == 0) {
            attr.exclude_guest = attr.exclude_host = 1;
        }
        if (modifiers.guest) attr.exclude_guest = 0;
        if (modifiers.host) attr.exclude_host = 0;
    } else if (modifiers.precise > 0 && attr.exclude_host == 0) {
        // Precise events of a guest would need its memory.
        attr.exclude_guest = 1;
    }
    if (modifiers.not_idle) attr.exclude_idle = 1;
    if (modifiers.pinned) attr.pinned = 1;
    if (modifiers.exclusive) attr.exclusive = 1;
    if (modifiers.precise > 0) attr.precise_ip = modifiers.precise & 3U;
}

}  // namespace metagroup::detail
