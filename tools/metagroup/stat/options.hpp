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
    std::uint64_t count = 0;  // intervals; 0: no end
    std::optional<std::string> separator;
    bool json = false;
    std::string file;
    std::vector<std::string> command;

    std::optional<std::chrono::nanoseconds> interval() const { return in_ns(interval_ms_); }
    std::optional<std::chrono::nanoseconds> timeout() const { return in_ns(timeout_ms_); }

  private:
    static std::optional<std::chrono::nanoseconds> in_ns(double milliseconds);

    double interval_ms_ = 0;
    double timeout_ms_ = 0;
};

}  // namespace tool
