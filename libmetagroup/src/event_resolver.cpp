// SPDX-License-Identifier: MIT
// Resolves a word to the events that it names.
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <iterator>
#include <metagroup/suggestion.hpp>
#include <utility>

#include "diagnostics.hpp"
#include "event_sources.hpp"
#include "format.hpp"

namespace metagroup::detail {
namespace {

constexpr auto npos = std::string_view::npos;

/// One event as written: `head:tail`.
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
    std::string_view tail;  ///< after the first colon
    const SystemPaths& paths;

    [[nodiscard]] EventSpec spec(std::uint32_t type = 0, std::uint64_t config = 0) const {
        EventSpec spec;
        spec.name = text;
        spec.attr.size = sizeof(spec.attr);
        spec.attr.type = type;
        spec.attr.config = config;
        return spec;
    }
    /// Applies the modifiers from `offset` to the end.
    [[nodiscard]] EventSpec modified(EventSpec spec, std::size_t offset) const {
        apply_modifiers(parse_modifiers(text.substr(offset), offset), paths, spec.attr);
        return spec;
    }
    /// A perf name or a raw event: `tail` can only be modifiers.
    [[nodiscard]] std::optional<EventSpec> simple() const {
        if (const GenericEvent* const event = find_generic_event(head))
            return spec(event->type, event->config);
        if (head == "duration_time") {
            // The clock of one CPU; all run alike.
            EventSpec clock = spec(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
            clock.unit = "ns";
            clock.on_one_cpu = true;
            return clock;
        }
        if (const auto config = raw_config()) return spec(PERF_TYPE_RAW, *config);
        return std::nullopt;
    }
    /// `system:name`. "::" belongs to libpfm4.
    [[nodiscard]] bool may_be_tracepoint() const {
        return !head.empty() && !tail.empty() && !tail.starts_with(':') &&
               !looks_like_modifiers(tail);
    }
    /// Where modifiers after a libpfm4 name begin; npos if there are none.
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
                    "use at most 16 hexadecimal digits"});
        if (error != std::errc{} || end != last) return std::nullopt;
        return config;
    }
};

using Result = std::vector<EventSpec>;

bool has_wildcards(std::string_view text) {
    return text.find_first_of("*?[") != npos;
}

bool fits(const std::string& name, std::string_view pattern) {
    return ::fnmatch(std::string(pattern).c_str(), name.c_str(), 0) == 0;
}

// As in perf, uncore_imc and imc stand for uncore_imc, uncore_imc_0, uncore_imc_1...
std::vector<std::string> matching_pmus(std::string_view pattern, const SystemPaths& paths) {
    constexpr std::string_view uncore = "uncore_";
    const auto numbered = [&](std::string_view name) {
        if (!name.starts_with(pattern)) return false;
        name.remove_prefix(pattern.size());
        if (name.empty()) return true;
        return name.size() > 1 && name[0] == '_' && std::ranges::all_of(name.substr(1), [](char c) {
                   return std::isdigit(static_cast<unsigned char>(c)) != 0;
               });
    };
    std::vector<std::string> names = SysfsPmu::names(paths);
    std::erase_if(names, [&](const std::string& name) {
        const auto matches = [&](const std::string& one) {
            return has_wildcards(pattern) ? fits(one, pattern) : numbered(one);
        };
        return !matches(name) && !(name.starts_with(uncore) && matches(name.substr(uncore.size())));
    });
    return names;
}

// pmu/terms/ , pmu/terms/u , pmu/terms/:u
Result sysfs_event(const Word& word) {
    const std::string_view text = word.text;
    const std::size_t open = text.find('/');
    if (open == npos) return {};
    const std::size_t close = find_unquoted(text, open + 1, "/");
    const std::string_view name = text.substr(0, open);
    const auto encode = [&](const SysfsPmu& pmu) {
        EventSpec spec = word.spec();
        pmu.encode(text.substr(open + 1, close - open - 1), open + 1, spec);
        const std::size_t rest = close + 1;
        if (rest == text.size()) return spec;
        return word.modified(std::move(spec), text[rest] == ':' ? rest + 1 : rest);
    };
    if (const auto pmu = SysfsPmu::find(word.paths, name)) return {encode(*pmu)};

    Result specs;
    std::optional<SpecError> refusal;
    for (const std::string& one : matching_pmus(name, word.paths)) {
        const auto pmu = SysfsPmu::find(word.paths, one);
        if (!pmu) continue;
        try {
            EventSpec spec = encode(*pmu);
            spec.merged = spec.name;
            spec.name = spec.name == text ? one + std::string(text.substr(open))
                                          : detail::format("{} [{}]", spec.name, one);
            specs.push_back(std::move(spec));
        } catch (const SpecError& error) {
            if (!refusal) refusal = error;  // others may have the event
        }
    }
    if (specs.empty() && refusal) throw SpecError(*refusal);
    if (specs.empty())
        throw SpecError(0, {Cause::unknown_pmu, detail::format("unknown PMU \"{}\"", name),
                            did_you_mean(name, SysfsPmu::names(word.paths),
                                         detail::format("see {}", word.paths.pmus))});
    return specs;
}

// cycles, r1234, cycles:u
Result simple_event(const Word& word) {
    if (word.colon != npos && !looks_like_modifiers(word.tail)) return {};
    const auto spec = word.simple();
    if (!spec) return {};
    if (word.colon == npos) return {*spec};
    return {word.modified(*spec, word.colon + 1)};
}

// tsc: an event of that name in any PMU.
Result sysfs_alias(const Word& word) {
    if (!is_file_name(word.head) || (word.colon != npos && !looks_like_modifiers(word.tail)))
        return {};
    Result specs;
    for (const std::string& name : SysfsPmu::names(word.paths)) {
        const auto pmu = SysfsPmu::find(word.paths, name);
        if (!pmu || !std::ranges::binary_search(pmu->events(), word.head)) continue;
        EventSpec& spec = specs.emplace_back(word.spec());
        pmu->encode(word.head, 0, spec);
        if (word.colon != npos) spec = word.modified(std::move(spec), word.colon + 1);
        spec.merged = detail::format("{} [{}]", spec.name, name);
        std::swap(spec.name, spec.merged);
    }
    if (specs.size() == 1) specs[0].name = std::exchange(specs[0].merged, {});
    return specs;
}

// perf's names that cannot be counted here.
Result event_of_perf(const Word& word) {
    constexpr std::array<std::string_view, 11> facts = {
        "core_wide",    "has_pmem", "num_cores", "num_cpus",   "num_cpus_online", "num_dies",
        "num_packages", "slots",    "smt_on",    "target_cpu", "system_tsc_freq"};
    const auto refuse = [&](std::string_view reason, std::string_view remedy) {
        throw SpecError(0, {Cause::unsupported_event,
                            detail::format("\"{}\" {}", word.text, reason), std::string(remedy)});
    };
    if (word.text == "user_time" || word.text == "system_time")
        refuse("is measured by perf for the command that it runs, not for CPUs",
               "count cpu-clock, or use time(1)");
    if (std::ranges::find(facts, word.text) != facts.end())
        refuse("is a property of the machine, not an event", "see \"metagroup info\"");
    if (word.head == "ftrace" && !has_wildcards(word.tail)) {
        try {
            const auto name = word.tail.substr(0, word.tail.find(':'));
            static_cast<void>(tracepoint_id(word.head, name, word.paths));
        } catch (const SpecError&) {
            refuse("is a record of a tracer and cannot be counted", "use trace-cmd(1)");
        }
    }
    if (word.head.starts_with("sdt_") && !is_tracepoint_system(word.head, word.paths))
        refuse("is a probe point in a program and not yet a tracepoint",
               "add it with \"perf probe\"");
    if (word.head == "mem")
        refuse("is a hardware breakpoint, which is counted per task",
               "count it with \"perf stat -p\"");
    return {};
}

// system:name, system:name:u
Result tracepoint(const Word& word) {
    if (!word.may_be_tracepoint()) return {};
    const std::size_t colon = word.tail.find(':');
    EventSpec spec = word.spec(PERF_TYPE_TRACEPOINT,
                               tracepoint_id(word.head, word.tail.substr(0, colon), word.paths));
    if (colon == npos) return {spec};
    return {word.modified(std::move(spec), word.colon + 1 + colon + 1)};
}

// sched:*, sched:*:u
Result matching_tracepoints(const Word& word) {
    const std::string_view pattern = word.text.substr(0, word.text.find(':', word.colon + 1));
    if (!word.may_be_tracepoint() || !has_wildcards(pattern)) return {};
    Result specs;
    for (const std::string& name : tracepoint_names(word.paths)) {
        if (!fits(name, pattern)) continue;
        const std::string full = name + std::string(word.text.substr(pattern.size()));
        std::ranges::move(tracepoint(Word(full, word.paths)), std::back_inserter(specs));
    }
    return specs;
}

Result tracepoint_of_known_system(const Word& word) {
    if (!word.may_be_tracepoint() || !is_tracepoint_system(word.head, word.paths)) return {};
    return tracepoint(word);
}

// RETIRED_INSTRUCTIONS:u, pmu::EVENT:MASK:u=1:k=0
Result pfm_event(const Word& word) {
    EventSpec spec = word.spec();
    // First the whole word, since libpfm4 has its own modifiers; then without those of perf.
    if (pfm_encode(word.text, spec.attr).status != PfmStatus::ok) {
        const std::size_t modifiers = word.modifiers_of_pfm();
        if (modifiers == npos ||
            pfm_encode(word.text.substr(0, modifiers - 1), spec.attr).status != PfmStatus::ok)
            return {};
        spec = word.modified(std::move(spec), modifiers);
    }
    if (spec.attr.type >= PERF_TYPE_MAX)
        spec.cpus = SysfsPmu::cpus_of_type(word.paths, spec.attr.type);
    return {spec};
}

// cycles:x. Modifiers with '=' belong to libpfm4.
Result wrong_modifiers(const Word& word) {
    if (word.tail.find('=') != npos) return {};
    const auto spec = word.simple();
    if (!spec) return {};
    return {word.modified(*spec, word.colon + 1)};
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
    return {};
}

// Each returns events, or none if the word is not of its kind. The first non-empty result is used.
constexpr std::array<Result (*)(const Word&), 10> resolvers = {
    sysfs_event,
    simple_event,
    sysfs_alias,
    event_of_perf,
    matching_tracepoints,
    // libpfm4 has tracepoints as well, but accepts no modifiers for them.
    tracepoint_of_known_system,
    pfm_event,
    // No source has the event. The rest throw the most specific error.
    wrong_modifiers,
    wrong_pfm_event,
    tracepoint,
};

}  // namespace

std::vector<EventSpec> resolve_event(std::string_view text, const SystemPaths& paths) {
    const Word word(text, paths);
    for (const auto resolve : resolvers) {
        if (Result specs = resolve(word); !specs.empty()) return specs;
    }
    const std::string_view name = word.tail.starts_with(':') ? word.text : word.head;
    throw SpecError(0, {Cause::unknown_event, detail::format("unknown event \"{}\"", name),
                        did_you_mean(name, event_names(paths), see_list)});
}

}  // namespace metagroup::detail
