// SPDX-License-Identifier: MIT
// What the project promises of the module, against what was measured.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reporter.hpp"

namespace bench {

// `shapes` are the benchmarks' names after WAY/TARGETS. Prints how each of them fares. False if one
// misses the promise. Throws std::invalid_argument if one that is needed was not measured.
bool keeps_promise(const Results& results, const std::vector<std::string>& shapes,
                   std::size_t cpus);

}  // namespace bench
