// SPDX-License-Identifier: MIT
#pragma once

#include <CLI/App.hpp>

#include "places.hpp"

namespace tool {

// -A, --per-core, --per-socket and --per-node, of which one may be given.
void add_places(CLI::App& app, By& by);

}  // namespace tool
