// SPDX-License-Identifier: MIT
#include "stat/options.hpp"

#include <CLI/CLI.hpp>
#include <map>

namespace tool {
namespace {

// A duration in milliseconds; a bare number is one of those, as in perf stat.
CLI::Option* add_duration(CLI::App& app, const char* name, double& milliseconds, double least,
                          const char* help) {
    const std::map<std::string, double> units{
        {"ns", 1e-6}, {"us", 1e-3}, {"ms", 1}, {"s", 1e3}, {"min", 60e3}};
    return app.add_option(name, milliseconds, help)
        ->transform(CLI::AsNumberWithUnit(units, CLI::AsNumberWithUnit::CASE_SENSITIVE, "TIME"))
        ->check(CLI::Range(least, 1e9, "a time from " + std::to_string(least) + " ms"));
}

}  // namespace

void StatOptions::add_to(CLI::App& app) {
    selection.add_options(app);
    // Shorter than a sweep is of no use on any machine.
    CLI::Option* interval =
        add_duration(app, "-I,--interval", interval_ms_, 0.01,
                     "print what was counted at every interval, as in 100us, 1ms, 2s");
    app.add_option("--count", count, "end after so many intervals")->needs(interval);
    add_duration(app, "--timeout", timeout_ms_, 0.01, "end after so long");
    const auto place = [&](const char* name, By value, const char* help) {
        return app.add_flag_callback(
            name, [this, value] { by = value; }, help);
    };
    CLI::Option_group* places = app.add_option_group("rows");
    for (CLI::Option* option : {place("-A,--per-cpu", By::cpu, "a row for each CPU"),
                                place("--per-core", By::core, "for each core"),
                                place("--per-socket", By::socket, "for each socket"),
                                place("--per-node", By::node, "for each NUMA node")})
        places->add_option(option);
    places->require_option(0, 1);
    CLI::Option* csv = app.add_option("-x,--field-separator", separator, "CSV with this separator");
    app.add_flag("-j,--json", json, "a line of JSON for each count")->excludes(csv);
    app.add_option("-o,--output", file, "write to a file")->type_name("FILE");
    app.add_option("command", command, "count while this runs; everywhere, not only in it")
        ->type_name("COMMAND");
}

std::optional<std::chrono::nanoseconds> StatOptions::in_ns(double milliseconds) {
    if (milliseconds == 0) return std::nullopt;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double, std::milli>(milliseconds));
}

}  // namespace tool
