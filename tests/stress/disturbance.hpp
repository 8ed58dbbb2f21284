// SPDX-License-Identifier: MIT
// What happens to the machine meanwhile. Each call is one event; afterwards all is as before.
#pragma once

#include "processes.hpp"
#include "support/random.hpp"
#include "world.hpp"

namespace stress {

// A CPU goes and comes back. False if there is none that can: Linux 6.12 keeps some if others are
// isolated.
bool replug_cpu(World& world, Random& random);

// One of: counters become fewer, so that groups take turns; events of the test PMU move to another
// CPU; their reads are refused for a moment. False if a CPU for it is offline.
bool disturb_pmu(const World& world, Random& random);

bool wander(const Wanderer& wanderer, Random& random);

}  // namespace stress
