// SPDX-License-Identifier: MIT
// metagroup: the performance counters of all CPUs, for people who do not write programs.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "standard_streams.hpp"
#include "subcommands.hpp"

int main(int argc, char** argv) try {
    tool::occupy_closed_streams();
    CLI::App app(
        "Reads the performance counters of all CPUs, with one system call where the "
        "module perf_metagroup is loaded.",
        "metagroup");
    app.set_version_flag("--version", METAGROUP_VERSION);
    app.require_subcommand(1);
    app.failure_message(CLI::FailureMessage::simple);
    int status = 0;
    tool::add_complete(app);
    tool::add_stat(app, status);
    tool::add_top(app, status);
    tool::add_list(app, status);
    tool::add_info(app, status);
    tool::add_compare(app, status);
    tool::add_export(app, status);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {  // also what --help ends with
        status = app.exit(error);
    }
    tool::finish_printing();
    return status;
} catch (const std::exception& error) {
    std::fprintf(stderr, "metagroup: %s\n", error.what());
    return 1;
}
