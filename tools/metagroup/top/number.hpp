// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace tool {

// Three digits and k, M, G, T, P or E, in at most five characters: 0, 0.05, 1.23,
// 999, 1.00k, 12.3M. What is beyond that has an exponent.
std::string short_number(double value);

}  // namespace tool
