// SPDX-License-Identifier: MIT
// Updates as plain lines, for pipes, scripts and screen readers: nothing is drawn or moved.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "top/source.hpp"

namespace tool {

// A heading, then a line for the total and each row, in which each value follows its name, then an
// empty line.
std::string plain_lines(const Model& model, const std::string& heading);

// Prints updates until there are `count`, or to the end of the recording or a signal.
void run_batch(Source& source, Model& model, std::chrono::nanoseconds interval,
               std::optional<std::uint32_t> count);

}  // namespace tool
