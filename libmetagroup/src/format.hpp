// SPDX-License-Identifier: MIT
// fmt::format() with fmt's code in one object: compiling it in every file that uses it would take
// two thirds of the build time.
#pragma once

#include <fmt/core.h>

#include <string>

namespace metagroup::detail {

std::string vformat(fmt::string_view text, fmt::format_args arguments);

/// fmt::format(). Call it qualified: argument-dependent lookup may find std::format().
template <typename... Arguments>
std::string format(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    return detail::vformat(text, fmt::make_format_args(arguments...));
}

}  // namespace metagroup::detail
