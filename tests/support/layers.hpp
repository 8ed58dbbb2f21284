// SPDX-License-Identifier: MIT
// A module may be built without some of its layers: METAGROUP_WITHOUT lists them, and INFO's
// features say so.
#pragma once

#include <linux/perf_metagroup.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace metagroup::test {

inline bool is_left_out(std::string_view layer) {
    const char* without = std::getenv("METAGROUP_WITHOUT");
    return without != nullptr && std::string_view(without).find(layer) != std::string_view::npos;
}

// INFO must show exactly these.
inline std::uint64_t expected_features() {
    std::uint64_t features = PERF_METAGROUP_FEATURE_FRAMED | PERF_METAGROUP_FEATURE_SWEEP |
                             PERF_METAGROUP_FEATURE_MAP | PERF_METAGROUP_FEATURE_SKIP_ISOLATED;
    if (!is_left_out("quiet")) features |= PERF_METAGROUP_FEATURE_QUIET;
    if (!is_left_out("stream")) features |= PERF_METAGROUP_FEATURE_STREAM;
    if (!is_left_out("set")) features |= PERF_METAGROUP_FEATURE_SET | PERF_METAGROUP_FEATURE_NAME;
    return features;
}

// The layer that a command needs; nullptr for those of the core.
inline const char* layer_of(unsigned long command) {
    switch (command) {
        case PERF_METAGROUP_IOC_STREAM:
            return "stream";
        case PERF_METAGROUP_IOC_OPEN_SET:
        case PERF_METAGROUP_IOC_CONTROL:
        case PERF_METAGROUP_IOC_SET_EVENTS:
        case PERF_METAGROUP_IOC_GET_EVENTS:
        case PERF_METAGROUP_IOC_PUBLISH:
        case PERF_METAGROUP_IOC_JOIN:
        case PERF_METAGROUP_IOC_UNPUBLISH:
            return "set";
        default:
            return nullptr;
    }
}

}  // namespace metagroup::test
