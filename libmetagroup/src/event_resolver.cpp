// SPDX-License-Identifier: MIT
// One event and its modifiers.
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "diagnostics.hpp"
#include "event_sources.hpp"
#include "format.hpp"
#include "suggestion.hpp"

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

namespace {

constexpr auto npos = std::string_view::npos;

/// One event as it is written: `head:tail`.
struct Word {
    Word(std::string_view written, const SystemPaths& system)
        : text(written),
          colon(text.find(':')),
          head(text.substr(0, colon)),
          tail(colon == npos ? std::string_view{} : text.substr(colon + 1)),
          paths(system) {}

    std::string_view text;
    std::size_t colon;  ///< npos if there is none
    std::string_view head;
    std::string_view tail;  ///< behind the first colon
    const SystemPaths& paths;

    [[nodiscard]] EventSpec spec(std::uint32_t type = 0, std::uint64_t config = 0) const {
        EventSpec spec;
        spec.name = text;
        spec.attr.size = sizeof(spec.attr);
        spec.attr.type = type;
        spec.attr.config = config;
        return spec;
    }
    /// With the modifiers from `offset` to the end.
    [[nodiscard]] EventSpec modified(EventSpec spec, std::size_t offset) const {
        apply_modifiers(parse_modifiers(text.substr(offset), offset), spec.attr);
        return spec;
    }
    /// A name of perf, or a raw event: `tail` can only be modifiers.
    [[nodiscard]] std::optional<EventSpec> simple() const {
        if (const GenericEvent* const event = find_generic_event(head))
            return spec(event->type, event->config);
        if (const auto config = raw_config()) return spec(PERF_TYPE_RAW, *config);
        return std::nullopt;
    }
    /// `system:name`. "::" belongs to libpfm4.
    [[nodiscard]] bool may_be_tracepoint() const {
        return !head.empty() && !tail.empty() && !tail.starts_with(':') &&
               !looks_like_modifiers(tail);
    }
    /// Where modifiers begin that may follow a name of libpfm4; npos if there are none.
    [[nodiscard]] std::size_t modifiers_of_pfm() const {
        const std::size_t last = text.rfind(':');
        const bool modifiers = last != npos && last > 0 && text[last - 1] != ':' &&
                               looks_like_modifiers(text.substr(last + 1));
        return modifiers ? last + 1 : npos;
    }

  private:
    // r1234
    [[nodiscard]] std::optional<std::uint64_t> raw_config() const {
        constexpr int hexadecimal = 16;
        if (head.size() < 2 || head[0] != 'r') return std::nullopt;
        std::uint64_t config = 0;
        const char* const last = head.data() + head.size();
        const auto [end, error] = std::from_chars(head.data() + 1, last, config, hexadecimal);
        if (error == std::errc::result_out_of_range)
            throw SpecError(
                0, {Cause::syntax, detail::format("raw event \"{}\" has more than 64 bits", head),
                    "write 16 hexadecimal digits at most"});
        if (error != std::errc{} || end != last) return std::nullopt;
        return config;
    }
};

using Result = std::optional<EventSpec>;

// pmu/terms/ , pmu/terms/u , pmu/terms/:u
Result sysfs_event(const Word& word) {
    const std::string_view text = word.text;
    const std::size_t open = text.find('/');
    if (open == npos) return std::nullopt;
    const std::size_t close = text.find('/', open + 1);
    const std::string_view name = text.substr(0, open);
    const auto pmu = SysfsPmu::find(word.paths, name);
    if (!pmu)
        throw SpecError(0, {Cause::unknown_pmu, detail::format("unknown PMU \"{}\"", name),
                            did_you_mean(name, SysfsPmu::names(word.paths),
                                         detail::format("see {}", word.paths.pmus))});
    EventSpec spec = word.spec();
    pmu->encode(text.substr(open + 1, close - open - 1), open + 1, spec);
    const std::size_t rest = close + 1;
    if (rest == text.size()) return spec;
    return word.modified(std::move(spec), text[rest] == ':' ? rest + 1 : rest);
}

// cycles, r1234, cycles:u
Result simple_event(const Word& word) {
    if (word.colon != npos && !looks_like_modifiers(word.tail)) return std::nullopt;
    Result spec = word.simple();
    if (!spec || word.colon == npos) return spec;
    return word.modified(std::move(*spec), word.colon + 1);
}

// system:name, system:name:u
Result tracepoint(const Word& word) {
    if (!word.may_be_tracepoint()) return std::nullopt;
    const std::size_t colon = word.tail.find(':');
    EventSpec spec = word.spec(PERF_TYPE_TRACEPOINT,
                               tracepoint_id(word.head, word.tail.substr(0, colon), word.paths));
    if (colon == npos) return spec;
    return word.modified(std::move(spec), word.colon + 1 + colon + 1);
}

Result tracepoint_of_known_system(const Word& word) {
    if (!word.may_be_tracepoint() || !is_tracepoint_system(word.head, word.paths))
        return std::nullopt;
    return tracepoint(word);
}

// RETIRED_INSTRUCTIONS:u, pmu::EVENT:MASK:u=1:k=0
Result pfm_event(const Word& word) {
    EventSpec spec = word.spec();
    // The whole word first, since libpfm4 has modifiers of its own; then without perf's.
    if (pfm_encode(word.text, spec.attr).status != PfmStatus::ok) {
        const std::size_t modifiers = word.modifiers_of_pfm();
        if (modifiers == npos ||
            pfm_encode(word.text.substr(0, modifiers - 1), spec.attr).status != PfmStatus::ok)
            return std::nullopt;
        spec = word.modified(std::move(spec), modifiers);
    }
    if (spec.attr.type >= PERF_TYPE_MAX)
        spec.cpus = SysfsPmu::cpus_of_type(word.paths, spec.attr.type);
    return spec;
}

// cycles:x. Modifiers with '=' are those of libpfm4.
Result wrong_modifiers(const Word& word) {
    if (word.tail.find('=') != npos) return std::nullopt;
    Result spec = word.simple();
    if (!spec) return std::nullopt;
    return word.modified(std::move(*spec), word.colon + 1);
}

// EVENT:WRONG_MASK
Result wrong_pfm_event(const Word& word) {
    const auto refuse = [](std::string_view text) {
        perf_event_attr ignored{};
        PfmResult result = pfm_encode(text, ignored);
        if (result.status == PfmStatus::refused) throw SpecError(0, std::move(result.diagnosis));
    };
    const std::size_t modifiers = word.modifiers_of_pfm();
    if (modifiers != npos) refuse(word.text.substr(0, modifiers - 1));
    refuse(word.text);
    return std::nullopt;
}

// Each returns an event, or nothing if the word is not written as one of its kind. The first event
// counts.
constexpr std::array<Result (*)(const Word&), 7> resolvers = {
    sysfs_event,
    simple_event,
    // libpfm4 has tracepoints as well, but does not take modifiers for them.
    tracepoint_of_known_system,
    pfm_event,
    // No source has the event. The following throw the error that explains most.
    wrong_modifiers,
    wrong_pfm_event,
    tracepoint,
};

}  // namespace

EventSpec resolve_event(std::string_view text, const SystemPaths& paths) {
    const Word word(text, paths);
    for (const auto resolve : resolvers) {
        if (Result spec = resolve(word)) return std::move(*spec);
    }
    const std::string_view name = word.tail.starts_with(':') ? word.text : word.head;
    throw SpecError(0, {Cause::unknown_event, detail::format("unknown event \"{}\"", name),
                        did_you_mean(name, event_names(paths), see_list)});
}

}  // namespace metagroup::detail
