// SPDX-License-Identifier: MIT
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "export/counters.hpp"

namespace tool {

// Counts, times and CPUs as Prometheus has them: seconds, and _total where numbers only grow.
std::vector<prometheus::MetricFamily> families_of(const Counters& counters);

}  // namespace tool
