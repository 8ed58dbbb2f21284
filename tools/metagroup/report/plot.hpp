// SPDX-License-Identifier: MIT
// For each figure, a heat map of CPUs over time and lines of quantiles.
#pragma once

#include <string>
#include <string_view>

#include "common/analysis.hpp"

namespace tool {

std::string svg_of(const Timeline& timeline, std::string_view title);
// A zoomable page that draws the same; it loads nothing else.
std::string page_of(const Timeline& timeline, std::string_view title);
// Converts with rsvg-convert(1). \throws std::runtime_error with the remedy if that fails.
void write_png(const std::string& svg, const std::string& file);

}  // namespace tool
