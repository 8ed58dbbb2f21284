// SPDX-License-Identifier: MIT
#pragma once

#include <sched.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace measure {

// Binds the calling thread to a CPU. Throws std::system_error.
inline void bind_to_cpu(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(cpu), &set);
    if (::sched_setaffinity(0, sizeof(set), &set) != 0) {
        throw std::system_error(errno, std::generic_category(),
                                "cannot bind the thread to CPU " + std::to_string(cpu));
    }
}

}  // namespace measure
