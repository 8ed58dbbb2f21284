// SPDX-License-Identifier: MIT
// Each function adds a subcommand, whose callback sets the exit status of the program. The type
// name of an option tells completion what its values are: EVENTS, CPUS, SET, FILE, COMMAND.
#pragma once

#include <CLI/App.hpp>

namespace tool {

void add_compare(CLI::App& app, int& status);
void add_complete(CLI::App& app);  // hidden from --help
void add_export(CLI::App& app, int& status);
void add_info(CLI::App& app, int& status);
void add_list(CLI::App& app, int& status);
void add_record(CLI::App& app, int& status);
void add_report(CLI::App& app, int& status);
void add_set(CLI::App& app, int& status);
void add_stat(CLI::App& app, int& status);
void add_top(CLI::App& app, int& status);

}  // namespace tool
