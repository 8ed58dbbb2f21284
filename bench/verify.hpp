// SPDX-License-Identifier: MIT
// A method that delivers wrong counts must not be measured.
#pragma once

#include "methods/method.hpp"

namespace bench {

// Throws std::runtime_error unless the counts of a sweep lie between two read()s of the same
// events. Sampled counts may be late, so one of several tries must succeed. Call it during a turn.
void verify_counts(Method& method);

}  // namespace bench
