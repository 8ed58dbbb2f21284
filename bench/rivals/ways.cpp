// SPDX-License-Identifier: MIT
#include "rivals/ways.hpp"

namespace bench {

std::span<const Way> all_ways() {
    static constexpr Way ways[] = {
        {"null_syscall", "a system call that does nothing", make_null_syscall},
        {"per_fd", "a read() of each leader, from one CPU", make_per_fd},
        {"raw", "the module, one read() in RAW format", make_raw},
        {"framed", "the module, one read() in FRAMED format", make_framed},
        {"mapped", "the module, one ioctl(); the snapshot is mapped", make_mapped},
        {"quiet", "as mapped, and CPUs that sleep are not woken", make_quiet},
        {"floor", "an empty broadcast to the same CPUs (needs metagroup_floor.ko)", make_floor},
    };
    return ways;
}

}  // namespace bench
