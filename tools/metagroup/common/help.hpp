// SPDX-License-Identifier: MIT
// The text of --help.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace tool {

// As perf and ip print it: a line for each option, aligned. What needs more words is on the manual
// pages.
class HelpFormatter : public CLI::FormatterBase {
  public:
    std::string make_help(const CLI::App* app, std::string name,
                          CLI::AppFormatMode mode) const override;
};

}  // namespace tool
