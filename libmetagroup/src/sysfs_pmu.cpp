// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <metagroup/suggestion.hpp>

#include "event_sources.hpp"
#include "format.hpp"

namespace metagroup::detail {
namespace {

constexpr unsigned word_bits = 64;
constexpr std::array<std::string_view, 4> config_names = {"config", "config1", "config2",
                                                          "config3"};

// perf's options between the slashes besides fields and `name`: those that affect what is counted,
// and those that affect only samples or perf itself.
constexpr std::array<std::string_view, 4> terms_of_perf = {"percore", "driver-config", "aux-output",
                                                           "aux-action"};
constexpr std::array<std::string_view, 15> ignored_terms = {"period",      "freq",
                                                            "branch_type", "time",
                                                            "call-graph",  "stack-size",
                                                            "inherit",     "no-inherit",
                                                            "max-stack",   "max-events",
                                                            "nr",          "no-overwrite",
                                                            "overwrite",   "aux-sample-size",
                                                            "metric-id"};

std::uint64_t low_bits(unsigned count) noexcept {
    return count >= word_bits ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

// Decimal, or hexadecimal with 0x. No value unless the whole text is a number.
std::optional<std::uint64_t> parse_number(std::string_view text) {
    constexpr int decimal = 10;
    constexpr int hexadecimal = 16;
    int base = decimal;
    if (text.starts_with("0x") || text.starts_with("0X")) {
        base = hexadecimal;
        text.remove_prefix(2);
    }
    std::uint64_t value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value, base);
    if (error != std::errc{} || end != last) return std::nullopt;
    return value;
}

std::optional<unsigned> config_number(std::string_view name) {
    const auto* const found = std::ranges::find(config_names, name);
    if (found == config_names.end()) return std::nullopt;
    return static_cast<unsigned>(found - config_names.begin());
}

// A config word of the attribute, by number. config3 was added in Linux 6.3: nullptr if the kernel
// headers are older.
template <typename Attr>
auto* config_word(Attr& attr, unsigned number) {
    using Word = decltype(&attr.config);
    switch (number) {
        case 0:
            return &attr.config;
        case 1:
            return &attr.config1;
        case 2:
            return &attr.config2;
        default:
            if constexpr (requires { attr.config3; }) return Word{&attr.config3};
            return Word{};
    }
}

std::string_view unquoted(std::string_view text) {
    const bool quoted = text.size() > 1 && text.front() == text.back() &&
                        (text.front() == '\'' || text.front() == '"');
    return quoted ? text.substr(1, text.size() - 2) : text;
}

// r1a: `config` as a hexadecimal number.
std::optional<std::uint64_t> parse_raw(std::string_view text) {
    constexpr int hexadecimal = 16;
    if (text.size() < 2 || text[0] != 'r') return std::nullopt;
    text.remove_prefix(text.substr(1).starts_with("0x") ? 3 : 1);
    std::uint64_t value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value, hexadecimal);
    if (error != std::errc{} || end != last) return std::nullopt;
    return value;
}

// A sysfs file does not have the documented format.
SpecError unreadable(std::size_t offset, std::string reason) {
    return {offset,
            {Cause::unsupported_event, std::move(reason), "use another event of this machine"}};
}

SpecError syntax_error(std::size_t offset, std::string reason, std::string remedy) {
    return {offset, {Cause::syntax, std::move(reason), std::move(remedy)}};
}

}  // namespace

unsigned FormatField::width() const noexcept {
    unsigned bits = 0;
    for (const auto& [first, last] : ranges)
        bits += last - first + 1;
    return bits;
}

std::uint64_t FormatField::scatter(std::uint64_t value) const noexcept {
    std::uint64_t word = 0;
    for (const auto& [first, last] : ranges) {
        const unsigned count = last - first + 1;
        word |= (value & low_bits(count)) << first;
        value = count >= word_bits ? 0 : value >> count;
    }
    return word;
}

std::optional<FormatField> parse_format(std::string_view text) {
    const std::size_t colon = text.find(':');
    const auto config = config_number(text.substr(0, colon));
    if (colon == text.npos || !config) return std::nullopt;
    FormatField field{*config, {}};
    for (std::size_t at = colon; at != text.npos;) {
        const std::size_t comma = text.find(',', at + 1);
        const std::string_view range = text.substr(at + 1, comma - at - 1);
        const std::size_t dash = range.find('-');
        const auto first = parse_number(range.substr(0, dash));
        const auto last = dash == range.npos ? first : parse_number(range.substr(dash + 1));
        if (!first || !last || *first > *last || *last >= word_bits) return std::nullopt;
        field.ranges.emplace_back(static_cast<unsigned>(*first), static_cast<unsigned>(*last));
        at = comma;
    }
    // No two ranges overlap.
    if (static_cast<unsigned>(std::popcount(field.mask())) != field.width()) return std::nullopt;
    return field;
}

std::optional<SysfsPmu> SysfsPmu::find(const SystemPaths& paths, std::string_view name) {
    if (!is_file_name(name)) return std::nullopt;
    std::string path = detail::format("{}/{}", paths.pmus, name);
    const auto text = read_file(path + "/type");
    const auto type = text ? parse_number(*text) : std::nullopt;
    if (!type || *type > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    return SysfsPmu(std::string(name), std::move(path), static_cast<std::uint32_t>(*type));
}

std::vector<std::string> SysfsPmu::names(const SystemPaths& paths) {
    return list_directory(paths.pmus);
}

std::optional<CpuList> SysfsPmu::cpus_of_type(const SystemPaths& paths, std::uint32_t type) {
    for (const std::string& name : names(paths)) {
        const auto pmu = find(paths, name);
        if (pmu && pmu->type_ == type) return pmu->cpus();
    }
    return std::nullopt;
}

std::optional<CpuList> SysfsPmu::cpus() const {
    for (const char* file : {"/cpumask", "/cpus"}) {
        const auto text = read_file(path_ + file);
        if (!text || text->empty()) continue;
        try {
            return parse_cpu_list(*text, {});
        } catch (const Error& error) {
            throw unreadable(0, detail::format("{}{}: {}", path_, file, error.what()));
        }
    }
    return std::nullopt;
}

std::vector<std::string> SysfsPmu::events() const {
    std::vector<std::string> names = list_directory(path_ + "/events");
    std::erase_if(names, [](const std::string& name) {
        return name.ends_with(".scale") || name.ends_with(".unit") || name.ends_with(".snapshot") ||
               name.ends_with(".per-pkg");
    });
    return names;
}

std::string SysfsPmu::definition(const std::string& event) const {
    return read_file(detail::format("{}/events/{}", path_, event)).value_or("");
}

/// `name` or `name=value`, and its position.
struct SysfsPmu::Term {
    std::string name;
    std::optional<std::string> value;
    std::size_t offset = 0;
};

std::vector<SysfsPmu::Term> SysfsPmu::split(std::string_view text, std::size_t offset) {
    std::vector<Term> terms;
    for (std::size_t pos = 0;; ++pos) {
        const std::size_t end = find_unquoted(text, pos, ",");
        const std::string_view word = text.substr(pos, end - pos);
        const std::size_t equals = word.find('=');
        Term term{std::string(word.substr(0, equals)), std::nullopt, offset + pos};
        if (equals != word.npos) term.value = unquoted(word.substr(equals + 1));
        if (term.name.empty())
            throw syntax_error(term.offset, "a term is missing here",
                               "write an event name or field=number");
        terms.push_back(std::move(term));
        if (end == text.size()) return terms;
        pos = end;
    }
}

// Replaces event names with the terms in their files, and fills in open parameters (`=?`).
std::vector<SysfsPmu::Term> SysfsPmu::expand(std::vector<Term> terms, EventSpec& spec) const {
    std::vector<Term> expanded;
    std::vector<Term> own;
    for (Term& term : terms) {
        const std::string file = path_ + "/events/" + term.name;
        const auto alias = term.value || !is_file_name(term.name) ? std::nullopt : read_file(file);
        if (!alias) {
            own.push_back(std::move(term));
            continue;
        }
        for (Term& part : split(*alias, 0)) {
            part.offset = term.offset;
            expanded.push_back(std::move(part));
        }
        if (const auto scale = read_file(file + ".scale")) {
            const char* const last = scale->data() + scale->size();
            const auto [end, error] = std::from_chars(scale->data(), last, spec.scale);
            if (error != std::errc{} || end != last || !std::isfinite(spec.scale))
                throw unreadable(term.offset,
                                 detail::format("{}.scale is not a number: \"{}\"", file, *scale));
        }
        if (auto unit = read_file(file + ".unit")) spec.unit = std::move(*unit);
        // As in perf; the kernel documents neither: any value but 0 means yes.
        const auto says_yes = [&](const char* property) {
            return read_file(file + property).value_or("0") != "0";
        };
        spec.reading = spec.reading || says_yes(".snapshot");
        spec.per_package = spec.per_package || says_yes(".per-pkg");
    }
    for (Term& part : expanded) {
        if (part.value != "?") continue;
        const auto given = std::ranges::find(own, part.name, &Term::name);
        if (given == own.end() || !given->value)
            throw syntax_error(part.offset,
                               detail::format("the event needs a value for \"{}\"", part.name),
                               detail::format("add \",{}=N\"", part.name));
        part.value = given->value;
    }
    // Explicit terms come last, to override those in the event's file.
    std::move(own.begin(), own.end(), std::back_inserter(expanded));
    return expanded;
}

void SysfsPmu::unknown(const Term& term) const {
    std::vector<std::string> names = events();
    std::ranges::move(list_directory(path_ + "/format"), std::back_inserter(names));
    names.insert(names.end(), config_names.begin(), config_names.end());
    throw SpecError(
        term.offset,
        {Cause::unknown_event,
         detail::format("PMU \"{}\" has no event or field \"{}\"", name_, term.name),
         did_you_mean(term.name, names, detail::format("see {}/events and format", path_))});
}

FormatField SysfsPmu::field(const Term& term) const {
    if (is_file_name(term.name)) {
        const std::string file = path_ + "/format/" + term.name;
        if (const auto text = read_file(file)) {
            if (auto field = parse_format(*text)) return *field;
            throw unreadable(
                term.offset,
                detail::format("{} contains \"{}\", which this version cannot parse", file, *text));
        }
    }
    // `config` needs no format.
    if (const auto config = config_number(term.name)) return {*config, {{0, word_bits - 1}}};
    unknown(term);
}

void SysfsPmu::set(const Term& term, perf_event_attr& attr) const {
    const FormatField place = field(term);
    const auto value = term.value ? parse_number(*term.value) : std::uint64_t{1};
    if (!value)
        throw syntax_error(
            term.offset,
            detail::format("\"{}\" is not a valid number for field \"{}\"", *term.value, term.name),
            "use decimal, or hexadecimal with 0x");
    const std::uint64_t most = low_bits(place.width());
    if (*value > most)
        throw syntax_error(term.offset,
                           detail::format("{:#x} is too large for field \"{}\": it has {} bits",
                                          *value, term.name, place.width()),
                           detail::format("use {:#x} at most", most));
    auto* const word = config_word(attr, place.config);
    if (word == nullptr)
        throw SpecError(term.offset, {Cause::unsupported_event,
                                      "config3 is newer than the kernel headers of this build",
                                      "build the library with headers from Linux 6.3 or later"});
    *word = (*word & ~place.mask()) | place.scatter(*value);
}

void SysfsPmu::encode(std::string_view terms, std::size_t offset, EventSpec& spec) const {
    spec.attr.type = type_;
    spec.cpus = cpus();
    for (const Term& term : expand(split(terms, offset), spec)) {
        const bool own = is_file_name(term.name) && read_file(path_ + "/format/" + term.name);
        if (!own && term.name == "name" && term.value && !term.value->empty()) {
            spec.name = *term.value;
            continue;
        }
        if (!own && std::ranges::find(ignored_terms, term.name) != ignored_terms.end()) continue;
        if (!own && !term.value) {
            if (const auto config = parse_raw(term.name)) {
                spec.attr.config = *config;
                continue;
            }
        }
        if (!own && std::ranges::find(terms_of_perf, term.name) != terms_of_perf.end())
            throw SpecError(
                term.offset,
                {Cause::unsupported_event,
                 detail::format("\"{}\" is an option of perf, not a field of PMU \"{}\"", term.name,
                                name_),
                 "remove it"});
        set(term, spec.attr);
    }
}

}  // namespace metagroup::detail
