// SPDX-License-Identifier: MIT
#include "export/exposition.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace tool {
namespace {

std::string escaped(std::string_view text) {
    std::string result;
    for (const char letter : text) {
        if (letter == '\\' || letter == '"') result += '\\';
        if (letter == '\n')
            result += "\\n";
        else
            result += letter;
    }
    return result;
}

std::string_view name_of(Exposition::Type type) {
    switch (type) {
        case Exposition::Type::counter:
            return "counter";
        case Exposition::Type::gauge:
            return "gauge";
        case Exposition::Type::histogram:
            return "histogram";
    }
    return "unknown";
}

}  // namespace

Number::Number(std::uint64_t value) : text_(fmt::format("{}", value)) {}

// The shortest text that is read as the same number.
Number::Number(double value) : text_(fmt::format("{}", value)) {}

Number Number::seconds_of(std::uint64_t ns) {
    constexpr std::uint64_t second = 1'000'000'000;
    Number number;
    number.text_ = fmt::format("{}.{:09}", ns / second, ns % second);
    return number;
}

void Times::add(std::uint64_t ns) {
    for (std::size_t i = 0; i < kLimits.size(); ++i)
        if (ns <= kLimits[i].ns) ++counts_[i];
    sum_ += ns;
}

void Exposition::begin(std::string name, Type type, std::string_view help) {
    constexpr std::string_view total = "_total";
    name_ = std::move(name);
    // OpenMetrics names the family, whose samples have a suffix.
    std::string_view family = name_;
    if (type == Type::counter && format_ == Format::open_metrics)
        family.remove_suffix(total.size());
    fmt::format_to(std::back_inserter(text_), "# HELP {} {}\n# TYPE {} {}\n", family, help, family,
                   name_of(type));
}

void Exposition::add(const Number& value, const LabelSet& labels) {
    add("", labels, value.text());
}

void Exposition::add(const Times& times) {
    for (std::size_t i = 0; i < Times::kLimits.size(); ++i)
        add("_bucket", {{"le", std::string(Times::kLimits[i].seconds)}},
            Number(times.counts()[i]).text());
    add("_sum", {}, Number::seconds_of(times.sum()).text());
    add("_count", {}, Number(times.counts().back()).text());
}

void Exposition::add(std::string_view suffix, const LabelSet& labels, std::string_view value) {
    text_ += name_;
    text_ += suffix;
    char separator = '{';
    for (const auto& [name, text] : labels)
        fmt::format_to(std::back_inserter(text_), "{}{}=\"{}\"", std::exchange(separator, ','),
                       name, escaped(text));
    if (!labels.empty()) text_ += '}';
    fmt::format_to(std::back_inserter(text_), " {}\n", value);
}

std::string Exposition::finish() && {
    if (format_ == Format::open_metrics) text_ += "# EOF\n";
    return std::move(text_);
}

}  // namespace tool
