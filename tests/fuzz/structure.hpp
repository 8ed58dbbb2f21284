// SPDX-License-Identifier: MIT
// A structure for an ioctl: mostly right, else wrong in a way that is recorded.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "calls.hpp"

namespace fuzz {

// The place of a structure, and the errors that it must cause.
struct Placed {
    std::uint64_t address = 0;
    std::size_t size = 0;     // that the caller says it has
    std::size_t guarded = 0;  // if not 0, the bytes behind this many must not be written
    Errnos must;
};

// Puts `bytes` in memory, sometimes of another size; `least` is the smallest that the kernel
// accepts. `written`: the kernel writes to them, too.
Placed place(Fuzzer& fuzzer, Random& random, std::vector<unsigned char> bytes, std::size_t least,
             bool written);

// `value`, sometimes with an unknown flag.
template <typename Structure>
Placed place_struct(Fuzzer& fuzzer, Random& random, Structure value, std::size_t least,
                    bool written) {
    Errnos must;
    if (random.one_in(20)) {
        value.flags = 1U << random.below(32);
        must = {EINVAL};
    }
    std::vector<unsigned char> bytes(sizeof(value));
    std::memcpy(bytes.data(), &value, sizeof(value));
    Placed placed = place(fuzzer, random, std::move(bytes), least, written);
    placed.must |= must;
    return placed;
}

}  // namespace fuzz
