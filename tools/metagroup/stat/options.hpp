// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/App.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "places.hpp"
#include "selection.hpp"

namespace tool {

class StatOptions {
  public:
    void add_to(CLI::App& app);

    Selection selection;
    By by = By::all;
    std::optional<std::chrono::nanoseconds> interval;
    std::optional<std::chrono::nanoseconds> timeout;
    std::uint64_t count = 0;  // intervals; 0: no end
    std::optional<std::string> separator;
    bool json = false;
    std::string file;
    std::vector<std::string> command;
};

}  // namespace tool
