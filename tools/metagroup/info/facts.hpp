// SPDX-License-Identifier: MIT
// What there is to say of a machine, section by section. What is not known is null.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "info/system.hpp"

namespace tool {

Json kernel_facts(const System& system);
Json cpu_facts(const System& system);
// What this process may do.
Json privilege_facts(const System& system);
// Descriptors that the default events take on all CPUs, against what there may be.
Json limit_facts();
// The module and its device.
Json module_facts(const System& system, const std::string& device);
// An array: the PMUs, and how many counters they have where that can be found out.
Json pmu_facts(const System& system);

}  // namespace tool
