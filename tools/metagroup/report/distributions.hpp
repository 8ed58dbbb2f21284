// SPDX-License-Identifier: MIT
// The table of distributions, in the formats of the counts.
#pragma once

#include <span>
#include <string>

#include "common/analysis.hpp"

namespace tool {

// The first line has the names of the fields.
std::string distributions_as_csv(std::span<const Distribution> rows, const std::string& separator);
std::string distributions_as_json(std::span<const Distribution> rows);
std::string distributions_as_text(std::span<const Distribution> rows);

}  // namespace tool
