// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/App.hpp>
#include <chrono>
#include <cstdint>
#include <optional>

#include "places.hpp"
#include "selection.hpp"

namespace tool {

class TopOptions {
  public:
    void add_to(CLI::App& app);

    Selection selection;
    By by = By::cpu;
    std::optional<std::chrono::nanoseconds> interval;
    std::uint64_t count = 0;  // updates; 0: no end
};

}  // namespace tool
