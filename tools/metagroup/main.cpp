// SPDX-License-Identifier: MIT
// metagroup: the performance counters of all CPUs on the command line.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <metagroup/version.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/command_line.hpp"
#include "common/help.hpp"
#include "common/process.hpp"
#include "common/text.hpp"
#include "subcommands.hpp"

namespace {

// The exit status for this program's own failures, as in env(1) and timeout(1), to distinguish them
// from the status of a command. 1 is for negative results: no such event, counts differ.
constexpr int kFailure = 125;

int fail(const char* why, int status) {
    std::fprintf(stderr, "metagroup: %s\n", why);
    return status;
}

}  // namespace

int main(int argc, char** argv) try {
    tool::restore_signals();
    tool::occupy_closed_streams();
    CLI::App app(
        "Reads the performance counters of all CPUs, with the module perf_metagroup in one system "
        "call.",
        "metagroup");
    app.formatter(std::make_shared<tool::HelpFormatter>());
    app.set_help_flag("-h,--help", "print this help");
    app.set_version_flag("--version", METAGROUP_VERSION_STRING, "print the version");
    app.require_subcommand(1);
    int status = 0;
    tool::add_complete(app);
    tool::add_stat(app, status);
    tool::add_top(app, status);
    tool::add_list(app, status);
    tool::add_info(app, status);
    tool::add_compare(app, status);
    tool::add_export(app, status);
    tool::add_record(app, status);
    tool::add_report(app, status);
    tool::add_set(app, status);
    app.footer("Each has --help and a manual page, e.g. man metagroup-stat.");
    try {
        std::vector<std::string> words =
            tool::separate_command(app, {argv + std::min(argc, 1), argv + argc});
        std::ranges::reverse(words);  // as CLI11 expects them
        app.parse(std::move(words));
    } catch (const CLI::ParseError& error) {  // also thrown by --help
        if (error.get_exit_code() != 0)
            return fail(tool::describe_usage_error(app, error).c_str(), kFailure);
        app.exit(error);
    }
    tool::finish_printing();
    return status;
} catch (const tool::CommandError& error) {
    return fail(error.what(), error.exit_status());
} catch (const std::exception& error) {
    return fail(error.what(), kFailure);
}
