// SPDX-License-Identifier: MIT
#include "columns.hpp"

#include <algorithm>

namespace tool {
namespace {

// As a terminal shows it: bytes that continue a character of UTF-8 take no room.
std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

}  // namespace

std::vector<std::string> fold(std::string_view text, std::size_t width) {
    constexpr std::string_view blanks = " \t\n";
    std::vector<std::string> lines;
    std::size_t used = 0;
    for (std::size_t begin = text.find_first_not_of(blanks); begin != text.npos;) {
        const std::size_t end = std::min(text.find_first_of(blanks, begin), text.size());
        const std::string_view word = text.substr(begin, end - begin);
        if (lines.empty() || used + 1 + width_of(word) > width) {
            lines.emplace_back(word);
            used = width_of(word);
        } else {
            lines.back().append(" ").append(word);
            used += 1 + width_of(word);
        }
        begin = text.find_first_not_of(blanks, end);
    }
    return lines;
}

std::string entry(std::string_view name, std::string_view text, const Columns& columns) {
    std::string result = std::string(columns.indent, ' ').append(name);
    std::size_t used = columns.indent + width_of(name);
    const bool below = used >= columns.text;
    // On the narrowest terminal a column still has room for a word.
    constexpr std::size_t least = 20;
    const std::size_t room = std::max(least, columns.width - std::min(columns.width, columns.text));
    bool first = !below;
    for (const std::string& line : fold(text, room)) {
        if (!first) {
            result += '\n';
            used = 0;
        }
        result.append(columns.text - used, ' ').append(line);
        first = false;
    }
    return result + '\n';
}

}  // namespace tool
