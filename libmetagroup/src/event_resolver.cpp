// SPDX-License-Identifier: MIT
#include "event_resolver.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "error.hpp"
#include "formatted.hpp"
#include "generic_events.hpp"
#include "known_events.hpp"
#include "modifiers.hpp"
#include "pfm.hpp"
#include "suggestion.hpp"
#include "sysfs_pmu.hpp"
#include "tracepoint.hpp"

namespace metagroup::detail {
namespace {

constexpr auto npos = std::string_view::npos;

void apply(std::string_view letters, std::size_t offset, EventSpec& spec) {
    apply_modifiers(parse_modifiers(letters, offset), spec.attr);
}

// pmu/terms/ , pmu/terms/u , pmu/terms/:u
EventSpec resolve_sysfs(std::string_view word, const SystemPaths& paths, EventSpec spec) {
    const std::size_t open = word.find('/');
    const std::size_t close = word.find('/', open + 1);
    const std::string_view name = word.substr(0, open);
    const auto pmu = SysfsPmu::find(paths, name);
    if (!pmu) {
        throw SpecError(0, formatted("this machine has no PMU \"{}\"{} (see {})", name,
                                     did_you_mean(name, SysfsPmu::names(paths)), paths.pmus));
    }
    pmu->encode(word.substr(open + 1, close - open - 1), open + 1, spec);
    std::size_t rest = close + 1;
    if (rest < word.size()) {
        if (word[rest] == ':') ++rest;
        apply(word.substr(rest), rest, spec);
    }
    return spec;
}

// r1234
std::optional<std::uint64_t> raw_config(std::string_view head) {
    constexpr int hexadecimal = 16;
    if (head.size() < 2 || head[0] != 'r') return std::nullopt;
    std::uint64_t config = 0;
    const char* const last = head.data() + head.size();
    const auto [end, error] = std::from_chars(head.data() + 1, last, config, hexadecimal);
    if (error == std::errc::result_out_of_range) {
        throw SpecError(0, formatted("raw event \"{}\" has more than 64 bits", head));
    }
    if (error != std::errc{} || end != last) return std::nullopt;
    return config;
}

// Event numbers of PMUs that libpfm4 knows, for the CPUs that such a PMU counts on.
EventSpec finish_pfm(EventSpec spec, const SystemPaths& paths) {
    if (spec.attr.type >= PERF_TYPE_MAX) {
        spec.cpus = SysfsPmu::cpus_of_type(paths, spec.attr.type);
    }
    return spec;
}

// system:name, system:name:u; `tail` is what follows the first colon.
EventSpec resolve_tracepoint(std::string_view system, std::string_view tail,
                             const SystemPaths& paths, EventSpec spec) {
    const std::size_t colon = tail.find(':');
    spec.attr.type = PERF_TYPE_TRACEPOINT;
    spec.attr.config = tracepoint_id(system, tail.substr(0, colon), 0, paths);
    if (colon != npos) apply(tail.substr(colon + 1), system.size() + 1 + colon + 1, spec);
    return spec;
}

[[noreturn]] void unknown_event(std::string_view head, const SystemPaths& paths) {
    throw SpecError(0, formatted("no event \"{}\" is known on this machine{}", head,
                                 did_you_mean(head, event_names(paths))));
}

}  // namespace

EventSpec resolve_event(std::string_view word, const SystemPaths& paths) {
    EventSpec spec;
    spec.name = word;
    spec.attr.size = sizeof(spec.attr);
    if (word.find('/') != npos) return resolve_sysfs(word, paths, std::move(spec));

    const std::size_t colon = word.find(':');
    const std::string_view head = word.substr(0, colon);
    const std::string_view tail = colon == npos ? std::string_view{} : word.substr(colon + 1);
    const GenericEvent* const generic = find_generic_event(head);
    const auto raw = generic == nullptr ? raw_config(head) : std::nullopt;
    if ((generic != nullptr || raw) && (colon == npos || looks_like_modifiers(tail))) {
        spec.attr.type = generic != nullptr ? generic->type : std::uint32_t{PERF_TYPE_RAW};
        spec.attr.config = generic != nullptr ? generic->config : *raw;
        if (colon != npos) apply(tail, colon + 1, spec);
        return spec;
    }

    // system:name[:modifiers]; "::" belongs to libpfm4. Asked before libpfm4, which knows
    // tracepoints as well, but not their modifiers.
    const bool may_be_tracepoint = colon != npos && !tail.empty() && !tail.starts_with(':') &&
                                   !head.empty() && !looks_like_modifiers(tail);
    if (may_be_tracepoint && is_tracepoint_system(head, paths)) {
        return resolve_tracepoint(head, tail, paths, std::move(spec));
    }

    // libpfm4 has modifiers of its own (`u=1`), so it sees the whole word first; then the word
    // without ours.
    const PfmAnswer whole = pfm_encode(word, spec.attr);
    if (whole.verdict == PfmVerdict::ok) return finish_pfm(std::move(spec), paths);
    const std::size_t last = word.rfind(':');
    if (last != npos && last > 0 && word[last - 1] != ':' &&
        looks_like_modifiers(word.substr(last + 1))) {
        const PfmAnswer base = pfm_encode(word.substr(0, last), spec.attr);
        if (base.verdict == PfmVerdict::ok) {
            apply(word.substr(last + 1), last + 1, spec);
            return finish_pfm(std::move(spec), paths);
        }
        if (base.verdict == PfmVerdict::refused) throw SpecError(0, base.message);
    }
    // A name of ours with a wrong modifier: our text explains the letters. With '=' libpfm4's
    // modifiers were meant.
    if ((generic != nullptr || raw) && tail.find('=') == npos) apply(tail, colon + 1, spec);
    if (whole.verdict == PfmVerdict::refused) throw SpecError(0, whole.message);

    if (may_be_tracepoint) return resolve_tracepoint(head, tail, paths, std::move(spec));
    unknown_event(tail.starts_with(':') ? word : head, paths);
}

}  // namespace metagroup::detail
