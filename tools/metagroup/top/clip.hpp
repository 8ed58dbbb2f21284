// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

namespace tool {

// What of a text in UTF-8 fits into so many columns, at one column for each character.
std::string_view clip(std::string_view text, std::size_t columns);
std::size_t columns_of(std::string_view text);

}  // namespace tool
