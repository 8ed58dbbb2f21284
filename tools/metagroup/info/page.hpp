// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "info/facts.hpp"

namespace tool {

// The report as text: a paragraph for each section.
std::string as_page(const Json& report);

}  // namespace tool
