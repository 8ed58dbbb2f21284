// SPDX-License-Identifier: MIT
// Text for people in two columns, folded.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tool {

// Broken at blanks into lines of so many columns; a word that is longer has a line of its own.
std::vector<std::string> fold(std::string_view text, std::size_t width);

struct Columns {
    std::size_t indent = 0;  // where names begin
    std::size_t text = 0;    // where texts begin
    std::size_t width = 80;  // of a line
};

// A name and its text, which begins a line below where the name reaches into its column.
std::string entry(std::string_view name, std::string_view text, const Columns& columns);

}  // namespace tool
