// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/App.hpp>
#include <chrono>
#include <optional>
#include <string>

namespace tool {

// An option that takes a time, as in 100us or 2s; a number without unit is so many `bare`. A time
// shorter than `least` is refused.
CLI::Option* add_duration(CLI::App& app, const std::string& name,
                          std::optional<std::chrono::nanoseconds>& duration,
                          std::chrono::nanoseconds bare, std::chrono::nanoseconds least,
                          const std::string& help);

}  // namespace tool
