// SPDX-License-Identifier: MIT
// The formats of the page, and the choice by the header of a request.
#pragma once

#include <string_view>

namespace tool {

enum class Format { text, open_metrics };

// The one that the header Accept of a request weighs most (RFC 9110): OpenMetrics only if it is
// named, and before text of the same weight.
Format format_for(std::string_view accept);

}  // namespace tool
