// SPDX-License-Identifier: MIT
#include "top/options.hpp"

#include <CLI/CLI.hpp>

#include "duration_option.hpp"
#include "places_option.hpp"
#include "top/interval.hpp"

namespace tool {

void TopOptions::add_to(CLI::App& app) {
    using namespace std::chrono_literals;
    selection.add_options(app);
    // Bare numbers mean what they mean to top(1), and to metagroup stat.
    CLI::Option* delay = add_duration(app, "-d,--delay", interval, 1s, kShortestInterval,
                                      "seconds between updates, or as in 500ms (1)");
    add_duration(app, "-I,--interval", interval, 1ms, kShortestInterval,
                 "the same in milliseconds, as stat has it")
        ->excludes(delay);
    app.add_option("--count", count, "end after so many updates");
    add_places(app, by);
}

}  // namespace tool
