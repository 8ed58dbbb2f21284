// SPDX-License-Identifier: MIT
#include "structure.hpp"

namespace fuzz {
namespace {

constexpr std::size_t kPage = 4096;  // the largest structure that the kernel accepts

// Another size than that of this version. `bytes` gets it, unless it is too small or too large.
std::uint32_t resize(std::vector<unsigned char>& bytes, Random& random, std::size_t least,
                     Errnos& must) {
    const std::size_t known = bytes.size();
    switch (random.below(6)) {
        case 0: {  // too small
            const std::uint32_t sizes[] = {0, 1, 4, static_cast<std::uint32_t>(least - 1)};
            must |= {EINVAL};
            return random.pick(sizes);
        }
        case 1: {  // too large
            const std::uint32_t sizes[] = {kPage + 1, 0x7FFFFFFF, 0xFFFFFFFF};
            must |= {E2BIG};
            return random.pick(sizes);
        }
        case 2:  // of a later version, with unknown fields set
            bytes.resize(known + 1 + random.below(kPage - known));
            bytes[known + random.below(bytes.size() - known)] = 1;
            must |= {E2BIG};
            break;
        case 3:  // of an earlier version
            bytes.resize(least + random.below(known - least + 1));
            break;
        default:  // of a later version
            bytes.resize(known + random.below(kPage - known + 1));
    }
    return static_cast<std::uint32_t>(bytes.size());
}

}  // namespace

Placed place(Fuzzer& fuzzer, Random& random, std::vector<unsigned char> bytes, std::size_t least,
             bool written) {
    Placed placed;
    auto size = static_cast<std::uint32_t>(bytes.size());
    if (random.one_in(10)) size = resize(bytes, random, least, placed.must);
    placed.size = size;
    std::memcpy(bytes.data(), &size, sizeof(size));

    const Arena& arena = fuzzer.arena;
    const unsigned where = random.below(40);
    if (where == 0) {
        placed.address = Arena::invalid(random);
        placed.must |= {EFAULT};
        return placed;
    }
    unsigned char* at = arena.at_end(bytes.size());
    if (where == 1 && bytes.size() <= kPage) {
        at = arena.read_only();
        if (written) placed.must |= {EFAULT};
    } else if (where == 2) {
        // Its end is beyond the end of memory.
        const std::size_t cut = 1 + random.below(bytes.size() - 1);
        bytes.resize(cut);
        at = arena.at_end(cut);
        placed.must |= {EFAULT};
    } else if (where < 20) {
        at = arena.guarded(bytes.size());
        placed.guarded = bytes.size();
    }
    arena.fill(at, bytes);
    placed.address = reinterpret_cast<std::uintptr_t>(at);
    return placed;
}

}  // namespace fuzz
