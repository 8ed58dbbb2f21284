// SPDX-License-Identifier: MIT
// fmt stays inside: nobody who links this library needs it.
#define FMT_HEADER_ONLY
#include "formatted.hpp"

#include <fmt/format.h>

namespace metagroup::detail {

std::string formatted_of(fmt::string_view text, fmt::format_args arguments) {
    return fmt::vformat(text, arguments);
}

}  // namespace metagroup::detail
