// SPDX-License-Identifier: MIT
#pragma once

#include "top/screen.hpp"

namespace tool {

// What the keys do, and what is to be seen.
void draw_help(Screen& screen);

}  // namespace tool
