// SPDX-License-Identifier: MIT
#include "top/clip.hpp"

#include <algorithm>

namespace tool {
namespace {

bool begins_character(char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U;
}

}  // namespace

std::string_view clip(std::string_view text, std::size_t columns) {
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (begins_character(text[at]) && columns-- == 0) return text.substr(0, at);
    }
    return text;
}

std::size_t columns_of(std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

}  // namespace tool
