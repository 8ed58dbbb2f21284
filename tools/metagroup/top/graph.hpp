// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

#include "top/history.hpp"

namespace tool {

// One character for each of the newest `width` values, the newest last, as high as the part of
// `peak` that it is. Blank where nothing is known. In blocks of UTF-8, or in plain ASCII.
std::string graph(const History& history, std::size_t width, double peak, bool utf8);

}  // namespace tool
