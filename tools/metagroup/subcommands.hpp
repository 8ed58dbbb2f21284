// SPDX-License-Identifier: MIT
// Each adds one subcommand; running it sets the exit status of the program.
#pragma once

#include <CLI/App.hpp>

namespace tool {

void add_compare(CLI::App& app, int& status);
void add_export(CLI::App& app, int& status);
void add_info(CLI::App& app, int& status);
void add_list(CLI::App& app, int& status);
void add_stat(CLI::App& app, int& status);
void add_top(CLI::App& app, int& status);

}  // namespace tool
