// SPDX-License-Identifier: MIT
// Whether a way delivers what it says.
#pragma once

#include "rivals/rival.hpp"
#include "targets.hpp"

namespace bench {

// Throws std::runtime_error unless what a sweep of the rival brings lies between two read()s of the
// same events; sampled counts may be late, so of a few tries one must. In its turn. A way that
// measured nothing would be the fastest of all.
void verify_counts(Rival& rival, Load load);

}  // namespace bench
