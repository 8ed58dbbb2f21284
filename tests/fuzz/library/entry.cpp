// SPDX-License-Identifier: MIT
// The entry point of libFuzzer. METAGROUP_FUZZ_TARGET is one of the functions of targets.hpp.
#include <cstdint>

#include "targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    metagroup::fuzz::METAGROUP_FUZZ_TARGET({reinterpret_cast<const std::byte*>(data), size});
    return 0;
}
