// SPDX-License-Identifier: MIT
// Any text as a format file of a PMU.
#include <bit>
#include <string>
#include <utility>

#include "event_sources.hpp"
#include "targets.hpp"

namespace metagroup::fuzz {
namespace {

using detail::FormatField;

std::string written(const FormatField& field) {
    std::string text = "config" + (field.config == 0 ? "" : std::to_string(field.config));
    char separator = ':';
    for (const auto& [first, last] : field.ranges) {
        text += std::exchange(separator, ',') + std::to_string(first) + "-" + std::to_string(last);
    }
    return text;
}

// The inverse of scatter(), one bit at a time.
std::uint64_t gather(const FormatField& field, std::uint64_t word) {
    std::uint64_t value = 0;
    unsigned place = 0;
    for (const auto& [first, last] : field.ranges) {
        for (unsigned bit = first; bit <= last; ++bit)
            value |= (word >> bit & 1) << place++;
    }
    return value;
}

}  // namespace

void pmu_format(Bytes input) {
    constexpr unsigned bits = 64;
    constexpr unsigned most_config = 3;
    const auto field = detail::parse_format(as_text(input));
    if (!field) return;

    demand(field->config <= most_config && !field->ranges.empty(), "a field has a place");
    for (const auto& [first, last] : field->ranges)
        demand(first <= last && last < bits, "a range lies in its word");
    demand(static_cast<unsigned>(std::popcount(field->mask())) == field->width(),
           "every bit of a field has a place of its own");
    const std::uint64_t most = field->width() == bits ? ~0ULL : (1ULL << field->width()) - 1;
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, most, most / 3}) {
        demand((field->scatter(value) & ~field->mask()) == 0, "a value stays in its field");
        demand(gather(*field, field->scatter(value)) == (value & most),
               "a value can be gathered from its bits");
    }
    const auto again = detail::parse_format(written(*field));
    demand(again && again->config == field->config && again->ranges == field->ranges,
           "a format reads the same after writing");
}

}  // namespace metagroup::fuzz
