// SPDX-License-Identifier: MIT
// The formats of the page, selected by the Accept header of a request.
#pragma once

#include <string_view>

namespace tool {

enum class Format { text, open_metrics };

// The format with the highest weight in the Accept header (RFC 9110): OpenMetrics only if it is
// listed, and preferred to text at equal weight.
Format format_for(std::string_view accept);

}  // namespace tool
