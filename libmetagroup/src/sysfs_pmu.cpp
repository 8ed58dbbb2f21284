// SPDX-License-Identifier: MIT
#include "sysfs_pmu.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <stdexcept>

#include "cpu_list_parser.hpp"
#include "error.hpp"
#include "formatted.hpp"
#include "suggestion.hpp"

namespace metagroup::detail {
namespace {

constexpr unsigned word_bits = 64;

std::uint64_t low_bits(unsigned count) noexcept {
    return count >= word_bits ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

// Decimal, or hexadecimal with 0x. Nothing if it is not a number as a whole.
std::optional<std::uint64_t> parse_number(std::string_view text) {
    constexpr int decimal = 10;
    constexpr int hexadecimal = 16;
    int base = decimal;
    if (text.starts_with("0x") || text.starts_with("0X")) {
        base = hexadecimal;
        text.remove_prefix(2);
    }
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty()) {
        return std::nullopt;
    }
    return value;
}

// The word of the attribute that `config`, `config1`… name. config3 came with Linux 6.3; headers
// that are older have no room for it.
template <typename Attr>
void or_into(Attr& attr, unsigned config, std::uint64_t clear, std::uint64_t bits,
             std::size_t offset) {
    const auto change = [&](auto& word) { word = (word & ~clear) | bits; };
    switch (config) {
        case 0:
            change(attr.config);
            return;
        case 1:
            change(attr.config1);
            return;
        case 2:
            change(attr.config2);
            return;
        default:
            if constexpr (requires { attr.config3; }) {
                change(attr.config3);
                return;
            }
            throw SpecError(offset, "config3 is newer than the kernel headers of this build");
    }
}

std::optional<unsigned> config_number(std::string_view name) {
    for (const auto& [text, number] : {std::pair{"config", 0U}, std::pair{"config1", 1U},
                                       std::pair{"config2", 2U}, std::pair{"config3", 3U}}) {
        if (name == text) return number;
    }
    return std::nullopt;
}

}  // namespace

/// `name` or `name=value`, and where it was written.
struct SysfsPmu::Term {
    std::string name;
    std::string value;
    bool has_value = false;
    std::size_t offset = 0;
};

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
    if (colon == std::string_view::npos) return std::nullopt;
    const auto config = config_number(text.substr(0, colon));
    if (!config) return std::nullopt;
    FormatField field;
    field.config = *config;
    std::string_view rest = text.substr(colon + 1);
    for (bool more = true; more;) {
        const std::size_t comma = rest.find(',');
        more = comma != std::string_view::npos;
        const std::string_view range = rest.substr(0, comma);
        const std::size_t dash = range.find('-');
        const auto first = parse_number(range.substr(0, dash));
        const auto last =
            dash == std::string_view::npos ? first : parse_number(range.substr(dash + 1));
        if (!first || !last || *first > *last || *last >= word_bits) return std::nullopt;
        field.ranges.emplace_back(static_cast<unsigned>(*first), static_cast<unsigned>(*last));
        if (more) rest.remove_prefix(comma + 1);
    }
    // No bit stands twice.
    if (static_cast<unsigned>(std::popcount(field.mask())) != field.width()) return std::nullopt;
    return field;
}

std::optional<SysfsPmu> SysfsPmu::find(const SystemPaths& paths, std::string_view name) {
    if (!is_file_name(name)) return std::nullopt;
    std::string path = formatted("{}/{}", paths.pmus, name);
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
        } catch (const std::invalid_argument& error) {
            throw SpecError(0, formatted("{}{}: {}", path_, file, error.what()));
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
    return read_file(formatted("{}/events/{}", path_, event)).value_or("");
}

void SysfsPmu::unknown(const Term& term) const {
    std::vector<std::string> names = events();
    for (std::string& field : list_directory(path_ + "/format"))
        names.push_back(std::move(field));
    names.insert(names.end(), {"config", "config1", "config2"});
    throw SpecError(
        term.offset,
        formatted("PMU \"{}\" has no event or field \"{}\"{} (see {}/events and format)", name_,
                  term.name, did_you_mean(term.name, names), path_));
}

namespace {

template <typename Term>
std::vector<Term> split_terms(std::string_view text, std::size_t offset, bool fixed_offset) {
    std::vector<Term> terms;
    for (std::size_t pos = 0;; ++pos) {
        const std::size_t end = std::min(text.find(',', pos), text.size());
        const std::string_view word = text.substr(pos, end - pos);
        const std::size_t equals = word.find('=');
        Term term;
        term.offset = fixed_offset ? offset : offset + pos;
        term.name = word.substr(0, equals);
        if (equals != std::string_view::npos) {
            term.has_value = true;
            term.value = word.substr(equals + 1);
        }
        if (term.name.empty()) {
            throw SpecError(term.offset,
                            "a term is missing here: write an event's name or "
                            "field=number");
        }
        terms.push_back(std::move(term));
        if (end == text.size()) return terms;
        pos = end;
    }
}

}  // namespace

// Replaces names of events by what their files say, and fills in what these leave open (`=?`).
std::vector<SysfsPmu::Term> SysfsPmu::expand(std::vector<Term> terms, EventSpec& spec) const {
    std::vector<Term> expanded;
    std::vector<Term> own;
    for (Term& term : terms) {
        const std::string file = path_ + "/events/" + term.name;
        const auto alias =
            term.has_value || !is_file_name(term.name) ? std::nullopt : read_file(file);
        if (!alias) {
            own.push_back(std::move(term));
            continue;
        }
        for (Term& part : split_terms<Term>(*alias, term.offset, true)) {
            expanded.push_back(std::move(part));
        }
        if (const auto scale = read_file(file + ".scale")) {
            const char* const last = scale->data() + scale->size();
            const auto [end, error] = std::from_chars(scale->data(), last, spec.scale);
            if (error != std::errc{} || end != last || !std::isfinite(spec.scale)) {
                throw SpecError(term.offset,
                                formatted("{}.scale holds no number: \"{}\"", file, *scale));
            }
        }
        if (auto unit = read_file(file + ".unit")) spec.unit = std::move(*unit);
    }
    for (Term& part : expanded) {
        if (part.value != "?") continue;
        const auto given = std::find_if(own.begin(), own.end(),
                                        [&](const Term& term) { return term.name == part.name; });
        if (given == own.end() || !given->has_value) {
            throw SpecError(part.offset, formatted("the event leaves \"{}\" open: add \",{}=N\"",
                                                   part.name, part.name));
        }
        part.value = given->value;
    }
    // What was written by hand comes last: it overrides what the event's file says.
    std::move(own.begin(), own.end(), std::back_inserter(expanded));
    return expanded;
}

void SysfsPmu::set(const Term& term, perf_event_attr& attr) const {
    std::optional<FormatField> field;
    if (is_file_name(term.name)) {
        const std::string file = path_ + "/format/" + term.name;
        if (const auto text = read_file(file)) {
            field = parse_format(*text);
            if (!field) {
                throw SpecError(term.offset, formatted("{} says \"{}\", which this version does "
                                                       "not understand",
                                                       file, *text));
            }
        }
    }
    // `config` is understood by itself unless the PMU has a field of that name.
    if (!field) {
        if (const auto config = config_number(term.name)) {
            field = FormatField{*config, {{0, word_bits - 1}}};
        }
    }
    if (!field) unknown(term);
    std::uint64_t value = 1;
    if (term.has_value) {
        const auto number = parse_number(term.value);
        if (!number) {
            throw SpecError(term.offset, formatted("\"{}\" is no number for field \"{}\": write "
                                                   "decimal, or hexadecimal with 0x",
                                                   term.value, term.name));
        }
        value = *number;
    }
    if (value > low_bits(field->width())) {
        throw SpecError(term.offset,
                        formatted("{:#x} is too large for field \"{}\": it has {} bits, up to "
                                  "{:#x}",
                                  value, term.name, field->width(), low_bits(field->width())));
    }
    or_into(attr, field->config, field->mask(), field->scatter(value), term.offset);
}

void SysfsPmu::encode(std::string_view terms, std::size_t offset, EventSpec& spec) const {
    spec.attr.type = type_;
    spec.cpus = cpus();
    for (const Term& term : expand(split_terms<Term>(terms, offset, false), spec)) {
        set(term, spec.attr);
    }
}

}  // namespace metagroup::detail
