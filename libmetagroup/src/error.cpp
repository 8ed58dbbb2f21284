// SPDX-License-Identifier: MIT
#include "error.hpp"

#include <algorithm>
#include <metagroup/error.hpp>
#include <system_error>
#include <utility>

#include "formatted.hpp"

namespace metagroup {

std::string to_string(const Error::Parts& parts) {
    std::string text = parts.failed;
    if (!parts.why.empty()) text += ": " + parts.why;
    if (!parts.remedy.empty()) text += "; " + parts.remedy;
    return text;
}

Error::Error(int error, Parts parts)
    : std::system_error(error, std::generic_category(), to_string(parts)),
      parts_(std::make_shared<const Parts>(std::move(parts))) {}

namespace detail {

void throw_errno(int error, const std::string& what) {
    throw std::system_error(error, std::generic_category(), what);
}

void throw_parse_error(std::string_view kind, std::string_view text, std::size_t offset,
                       std::string_view message) {
    std::string what = formatted("{} \"{}\", column {}: {}", kind, text, offset + 1, message);
    // what() ends at a NUL.
    std::replace(what.begin(), what.end(), '\0', '?');
    throw std::invalid_argument(what);
}

}  // namespace detail
}  // namespace metagroup
