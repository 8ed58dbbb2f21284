// SPDX-License-Identifier: MIT
// Programs may be started with their standard streams closed, or full.
#pragma once

namespace tool {

// Takes the numbers of closed streams, lest what is opened next gets them and is written to. Using
// such a stream still fails.
void occupy_closed_streams();

// \throws std::system_error if something of what was printed by way of stdio did not get out.
void finish_printing();

}  // namespace tool
