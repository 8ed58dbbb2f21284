// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <utility>

#include "diagnostics.hpp"
#include "event_parser.hpp"
#include "format.hpp"

namespace metagroup::detail {
namespace {

struct Letter {
    char letter;
    bool Modifiers::*flag;
};

constexpr std::array letters = {
    Letter{'u', &Modifiers::user},       Letter{'k', &Modifiers::kernel},
    Letter{'h', &Modifiers::hypervisor}, Letter{'G', &Modifiers::guest},
    Letter{'H', &Modifiers::host},       Letter{'I', &Modifiers::not_idle},
    Letter{'D', &Modifiers::pinned},     Letter{'e', &Modifiers::exclusive},
};
constexpr char precise = 'p';

constexpr std::string_view explanation =
    "write some of: u user, k kernel, h hypervisor, G guest, H host, I not while idle, p precise, "
    "D pinned, e exclusive";

const Letter* find(char letter) noexcept {
    const auto* const found = std::ranges::find(letters, letter, &Letter::letter);
    return found == letters.end() ? nullptr : found;
}

[[noreturn]] void refuse(std::size_t offset, std::string reason, std::string_view remedy) {
    throw SpecError(offset, {Cause::syntax, std::move(reason), std::string(remedy)});
}

}  // namespace

bool looks_like_modifiers(std::string_view text) noexcept {
    return !text.empty() && std::ranges::all_of(text, [](char letter) {
        return letter == precise || find(letter) != nullptr;
    });
}

Modifiers parse_modifiers(std::string_view text, std::size_t offset) {
    constexpr unsigned max_precise = 3;
    Modifiers modifiers;
    if (text.empty()) refuse(offset, "modifiers are missing behind ':'", explanation);
    for (const char letter : text) {
        const Letter* const known = find(letter);
        if (letter == precise) {
            if (++modifiers.precise > max_precise)
                refuse(offset, "more than 3 modifiers 'p'", "write \"ppp\" at most");
        } else if (known == nullptr) {
            refuse(offset, detail::format("unknown modifier '{}' in \"{}\"", letter, text),
                   explanation);
        } else if (std::exchange(modifiers.*known->flag, true)) {
            refuse(offset, detail::format("duplicate modifier '{}'", letter), "remove one");
        }
        ++offset;
    }
    return modifiers;
}

void apply_modifiers(const Modifiers& modifiers, perf_event_attr& attr) {
    if (modifiers.user || modifiers.kernel || modifiers.hypervisor) {
        if (attr.exclude_user == 0 && attr.exclude_kernel == 0 && attr.exclude_hv == 0)
            attr.exclude_user = attr.exclude_kernel = attr.exclude_hv = 1;
        if (modifiers.user) attr.exclude_user = 0;
        if (modifiers.kernel) attr.exclude_kernel = 0;
        if (modifiers.hypervisor) attr.exclude_hv = 0;
    }
    if (modifiers.guest || modifiers.host) {
        if (attr.exclude_guest == 0 && attr.exclude_host == 0)
            attr.exclude_guest = attr.exclude_host = 1;
        if (modifiers.guest) attr.exclude_guest = 0;
        if (modifiers.host) attr.exclude_host = 0;
    } else if (modifiers.precise > 0 && attr.exclude_host == 0) {
        // Precise samples of a guest would need its memory.
        attr.exclude_guest = 1;
    }
    if (modifiers.not_idle) attr.exclude_idle = 1;
    if (modifiers.pinned) attr.pinned = 1;
    if (modifiers.exclusive) attr.exclusive = 1;
    if (modifiers.precise > 0) attr.precise_ip = modifiers.precise & 3U;
}

}  // namespace metagroup::detail
