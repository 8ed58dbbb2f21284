// SPDX-License-Identifier: MIT
// The modifier letters after an event or a group.
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "event_sources.hpp"
#include "format.hpp"

namespace metagroup::detail {
namespace {

struct Letter {
    char letter;
    bool Modifiers::*flag;
};

constexpr std::array letters = {
    Letter{'u', &Modifiers::user},         Letter{'k', &Modifiers::kernel},
    Letter{'h', &Modifiers::hypervisor},   Letter{'G', &Modifiers::guest},
    Letter{'H', &Modifiers::host},         Letter{'I', &Modifiers::not_idle},
    Letter{'D', &Modifiers::pinned},       Letter{'e', &Modifiers::exclusive},
    Letter{'P', &Modifiers::most_precise}, Letter{'S', &Modifiers::group_read},
    Letter{'W', &Modifiers::weak},
};
constexpr char precise = 'p';
constexpr char bpf = 'b';
constexpr unsigned max_precise = 3;

constexpr std::string_view explanation =
    "use: u user, k kernel, h hypervisor, G guest, H host, I not while idle, p precise, "
    "P most precise, D pinned, e exclusive, S all counts in a sample, W weak group";

const Letter* find(char letter) noexcept {
    const auto* const found = std::ranges::find(letters, letter, &Letter::letter);
    return found == letters.end() ? nullptr : found;
}

[[noreturn]] void refuse(std::size_t offset, std::string reason, std::string_view remedy) {
    throw SpecError(offset, {Cause::syntax, std::move(reason), std::string(remedy)});
}

}  // namespace

std::string with_modifiers(std::string name, std::string_view letters) {
    constexpr std::string_view of_groups = "DeSWb";  // do not affect counts
    const std::size_t end = std::min(name.find(" ["), name.size());
    std::size_t own = name.find_last_of(":/", end == 0 ? 0 : end - 1);
    own = own == name.npos ? end : own + 1;
    const bool modified = own < end && looks_like_modifiers(name.substr(own, end - own));
    const bool separated = modified || (own == end && name[end - 1] == '/');
    std::string added;
    for (const char letter : letters)
        if (of_groups.find(letter) == of_groups.npos &&
            (letter == precise || !modified ||
             name.substr(own, end - own).find(letter) == name.npos))
            added += letter;
    if (!added.empty()) name.insert(end, separated ? added : ':' + added);
    return name;
}

bool looks_like_modifiers(std::string_view text) noexcept {
    return !text.empty() && std::ranges::all_of(text, [](char letter) {
        return letter == precise || letter == bpf || find(letter) != nullptr;
    });
}

Modifiers parse_modifiers(std::string_view text, std::size_t offset) {
    Modifiers modifiers;
    if (text.empty()) refuse(offset, "modifiers are missing after ':'", explanation);
    for (const char letter : text) {
        const Letter* const known = find(letter);
        if (letter == precise) {
            if (++modifiers.precise > max_precise)
                refuse(offset, "more than 3 modifiers 'p'", "use at most \"ppp\"");
        } else if (letter == bpf) {
            refuse(offset, "modifier 'b' counts with perf's BPF programs",
                   "remove it: a set of events shares its counters with other sets");
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

namespace {

// The highest precise_ip of the CPU's own PMU; 0 if it has no precise events.
unsigned max_precision(const SystemPaths& paths) {
    const std::string text = read_file(paths.pmus + "/cpu/caps/max_precise").value_or("");
    unsigned level = 0;
    std::from_chars(text.data(), text.data() + text.size(), level);
    return std::min(level, max_precise);
}

}  // namespace

void apply_modifiers(const Modifiers& modifiers, const SystemPaths& paths, perf_event_attr& attr) {
    const unsigned precision = modifiers.most_precise ? max_precision(paths) : modifiers.precise;
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
    } else if (precision > 0 && attr.exclude_host == 0) {
        // Precise samples of a guest would require access to its memory.
        attr.exclude_guest = 1;
    }
    if (modifiers.not_idle) attr.exclude_idle = 1;
    if (modifiers.pinned) attr.pinned = 1;
    if (modifiers.exclusive) attr.exclusive = 1;
    if (precision > 0) attr.precise_ip = precision & max_precise;
}

}  // namespace metagroup::detail
