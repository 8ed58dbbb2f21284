// SPDX-License-Identifier: MIT
// Header-only, so that programs that link this library do not need fmt.
#define FMT_HEADER_ONLY
#include "format.hpp"

#include <fmt/format.h>

namespace metagroup::detail {

std::string vformat(fmt::string_view text, fmt::format_args arguments) {
    return fmt::vformat(text, arguments);
}

}  // namespace metagroup::detail
