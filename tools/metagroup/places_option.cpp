// SPDX-License-Identifier: MIT
#include "places_option.hpp"

#include <CLI/CLI.hpp>

namespace tool {

void add_places(CLI::App& app, By& by) {
    const auto place = [&](const char* name, By value, const char* help) {
        return app.add_flag_callback(
            name, [&by, value] { by = value; }, help);
    };
    CLI::Option_group* places = app.add_option_group("rows");
    for (CLI::Option* option : {place("-A,--per-cpu", By::cpu, "a row for each CPU"),
                                place("--per-core", By::core, "for each core"),
                                place("--per-socket", By::socket, "for each socket"),
                                place("--per-node", By::node, "for each NUMA node")})
        places->add_option(option);
    places->require_option(0, 1);
}

}  // namespace tool
