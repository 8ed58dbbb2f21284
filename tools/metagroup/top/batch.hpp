// SPDX-License-Identifier: MIT
// Prints updates as plain lines, for pipes, scripts and screen readers.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "top/source.hpp"

namespace tool {

// A heading, then a line for the total and for each row, in which each value follows its name, then
// an empty line.
std::string plain_lines(const Model& model, const std::string& heading);

// Prints updates until `count` is reached, the recording ends or a signal arrives.
void run_batch(Source& source, Model& model, std::chrono::nanoseconds interval,
               std::optional<std::uint32_t> count);

}  // namespace tool
