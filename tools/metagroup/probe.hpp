// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace tool {

// Whether this machine can count the group. A lack of permission, of descriptors or of free
// counters says nothing of that: it is told when the group is wanted.
bool can_count(const std::string& group);

}  // namespace tool
