// SPDX-License-Identifier: MIT
#include "stat/options.hpp"

#include <CLI/CLI.hpp>

#include "duration_option.hpp"
#include "places_option.hpp"

namespace tool {

void StatOptions::add_to(CLI::App& app) {
    using namespace std::chrono_literals;
    selection.add_options(app);
    // A bare number is milliseconds, as in perf stat; shorter than a sweep is of no use anywhere.
    CLI::Option* at =
        add_duration(app, "-I,--interval", interval, 1ms, 10us,
                     "print what was counted at every interval, as in 100us, 1ms, 2s");
    app.add_option("--count", count, "end after so many intervals")->needs(at);
    add_duration(app, "--timeout", timeout, 1ms, 10us, "end after so long");
    add_places(app, by);
    CLI::Option* csv = app.add_option("-x,--field-separator", separator, "CSV with this separator");
    app.add_flag("-j,--json", json, "a line of JSON for each count")->excludes(csv);
    app.add_option("-o,--output", file, "write to a file")->type_name("FILE");
    app.add_option("command", command, "count while this runs; everywhere, not only in it")
        ->type_name("COMMAND");
}

}  // namespace tool
