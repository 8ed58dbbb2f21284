// SPDX-License-Identifier: MIT
// A heat map of CPUs over time and lines of quantiles for each figure.
#pragma once

#include <string>
#include <string_view>

#include "common/analysis.hpp"

namespace tool {

std::string svg_of(const Timeline& timeline, std::string_view title);
// A page that draws the same at any zoom; it loads nothing.
std::string page_of(const Timeline& timeline, std::string_view title);
// Converts by rsvg-convert(1). \throws std::runtime_error with the remedy if that fails.
void write_png(const std::string& svg, const std::string& file);

}  // namespace tool
