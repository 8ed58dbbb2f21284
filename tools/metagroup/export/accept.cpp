// SPDX-License-Identifier: MIT
#include "export/accept.hpp"

#include <strings.h>

#include <charconv>
#include <initializer_list>
#include <optional>

namespace tool {
namespace {

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlanks = " \t";
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

bool same_word(std::string_view a, std::string_view b) {
    return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

// Removes the text up to the separator from the front of a list.
std::string_view take(std::string_view& list, char separator) {
    const std::size_t end = list.find(separator);
    const std::string_view item = list.substr(0, end);
    list.remove_prefix(end == list.npos ? list.size() : end + 1);
    return trimmed(item);
}

// The weight in the parameters of a type.
double weight_in(std::string_view parameters) {
    while (!parameters.empty()) {
        const std::string_view parameter = take(parameters, ';');
        if (!same_word(parameter.substr(0, 2), "q=")) continue;
        double weight = 0;
        std::from_chars(parameter.data() + 2, parameter.data() + parameter.size(), weight);
        return weight;
    }
    return 1;
}

// The weight of the first of these types that the header contains; 0 if it contains none. If a type
// occurs several times, for example with several versions, the largest weight.
double weight_of(std::initializer_list<std::string_view> types, std::string_view accept) {
    for (const std::string_view type : types) {
        std::optional<double> largest;
        for (std::string_view rest = accept; !rest.empty();) {
            std::string_view parameters = take(rest, ',');
            if (!same_word(take(parameters, ';'), type)) continue;
            const double weight = weight_in(parameters);
            if (!largest || weight > *largest) largest = weight;
        }
        if (largest) return *largest;
    }
    return 0;
}

}  // namespace

Format format_for(std::string_view accept) {
    const double open_metrics =
        weight_of({"application/openmetrics-text", "application/*"}, accept);
    const double text = weight_of({"text/plain", "text/*", "*/*"}, accept);
    return open_metrics > 0 && open_metrics >= text ? Format::open_metrics : Format::text;
}

}  // namespace tool
