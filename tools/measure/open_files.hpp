// SPDX-License-Identifier: MIT
#pragma once

namespace measure {

// Raises this process's limit of open files as far as its privileges allow: every event of every
// CPU is one. Where that is not far enough, opening an event says so.
void raise_file_limit();

}  // namespace measure
