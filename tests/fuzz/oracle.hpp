// SPDX-License-Identifier: MIT
// The errors that the manual page documents, call by call.
#pragma once

#include "calls.hpp"

namespace fuzz {

const char* name_of(Call call);

// Errors that right arguments may give, because of what the file, its members or other threads are.
const Errnos& explained(Call call);

// Whether a run that is long enough must have seen it succeed.
bool can_succeed(Call call);

// What is wrong with the outcome, or null.
const char* judge(const Outcome& outcome);

}  // namespace fuzz
