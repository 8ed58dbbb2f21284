// SPDX-License-Identifier: MIT
#include "error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

namespace metagroup::detail {

void throw_errno(int error, const std::string& what) {
    throw std::system_error(error, std::generic_category(), what);
}

void throw_parse_error(std::string_view kind, std::string_view text, std::size_t offset,
                       std::string_view message) {
    std::string what = fmt::format("{} \"{}\", column {}: {}", kind, text, offset + 1, message);
    // what() ends at a NUL.
    std::replace(what.begin(), what.end(), '\0', '?');
    throw std::invalid_argument(what);
}

}  // namespace metagroup::detail
