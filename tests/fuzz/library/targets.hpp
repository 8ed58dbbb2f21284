// SPDX-License-Identifier: MIT
// The fuzz targets. A target feeds its input to a part of the library and checks the rules of that
// part. A broken rule ends the program.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

namespace metagroup::fuzz {

using Bytes = std::span<const std::byte>;

struct Target {
    const char* name;
    void (*run)(Bytes input);
};
std::span<const Target> targets();

inline void demand(bool holds, const char* rule) {
    if (holds) return;
    std::fprintf(stderr, "broken rule: %s\n", rule);
    std::abort();
}

inline std::string_view as_text(Bytes input) {
    return {reinterpret_cast<const char*>(input.data()), input.size()};
}

}  // namespace metagroup::fuzz
