// SPDX-License-Identifier: MIT
// The text of --help.
#pragma once

#include <CLI/App.hpp>
#include <string>

namespace tool {

// One aligned line per option, like perf and ip. Details are in the manual pages.
class HelpFormatter : public CLI::FormatterBase {
  public:
    std::string make_help(const CLI::App* app, std::string name,
                          CLI::AppFormatMode mode) const override;
};

}  // namespace tool
