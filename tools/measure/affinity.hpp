// SPDX-License-Identifier: MIT
#pragma once

namespace measure {

// Binds the calling thread to a CPU, so that what it measures is that CPU's.
// Throws std::system_error.
void bind_to_cpu(int cpu);

}  // namespace measure
