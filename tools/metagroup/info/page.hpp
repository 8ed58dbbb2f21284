// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "info/system.hpp"

namespace tool {

// The report as people read and paste it: a paragraph for each section.
std::string as_page(const Json& report);

}  // namespace tool
