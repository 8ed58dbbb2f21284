// SPDX-License-Identifier: MIT
#include "measure/open_files.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace measure {

void raise_file_limit() {
    // The kernel's own bound, fs.nr_open, unless an administrator has changed it.
    constexpr rlim_t most = 1 << 20;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    const rlimit privileged{most, std::max(limit.rlim_max, most)};
    if (::setrlimit(RLIMIT_NOFILE, &privileged) == 0) return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace measure
