// SPDX-License-Identifier: MIT
// What must hold while all threads stand still.
#pragma once

#include "world.hpp"

namespace stress {

// Throws if it does not.
void check_at_rest(World& world);

}  // namespace stress
