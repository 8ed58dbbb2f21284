// SPDX-License-Identifier: MIT
// The backends that tests compare.
#pragma once

#include <linux/perf_metagroup.h>
#include <unistd.h>

#include <cstdlib>
#include <metagroup/metagroup.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace metagroup::test {

/// The one that needs no module: per_fd, or percpu if METAGROUP_TEST_BACKEND says so.
inline Backend other_backend() {
    const char* const chosen = std::getenv("METAGROUP_TEST_BACKEND");
    return chosen != nullptr && std::string_view(chosen) == "percpu" ? Backend::percpu
                                                                     : Backend::per_fd;
}

/// The module, if it is loaded, and other_backend().
inline std::vector<Backend> backends() {
    if (::access(PERF_METAGROUP_DEVICE, F_OK) != 0) return {other_backend()};
    return {Backend::module, other_backend()};
}

/// Their names, for --backend.
inline std::vector<std::string> backend_names() {
    std::vector<std::string> names;
    for (const Backend backend : backends())
        names.emplace_back(to_string(backend));
    return names;
}

}  // namespace metagroup::test
