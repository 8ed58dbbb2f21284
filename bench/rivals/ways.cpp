// SPDX-License-Identifier: MIT
#include "rivals/ways.hpp"

#include <array>

namespace bench {

std::span<const Way> all_ways() {
    static constexpr auto ways = std::to_array<Way>({
        {"null_syscall", "a system call that does nothing", make_null_syscall},
        {"per_fd", "a read() of each leader, from one CPU", make_per_fd},
        {"migrating", "the reader moves to each CPU and reads there", make_migrating},
        {"threads", "a thread on each CPU reads there", make_threads},
        {"io_uring", "the reads of per_fd by one io_uring_enter()", make_io_uring},
        {"sampling", "each CPU samples by a timer of its own into a ring", make_sampling},
        {"bpf", "a BPF program run on each CPU, then a map lookup", make_bpf},
        {"raw", "the module, one read() in RAW format", make_raw},
        {"framed", "the module, one read() in FRAMED format", make_framed},
        {"mapped", "the module, one ioctl(); the snapshot is mapped", make_mapped},
        {"quiet", "as mapped, and CPUs that sleep are not woken", make_quiet},
        {"floor", "an empty broadcast to the same CPUs (needs metagroup_floor.ko)", make_floor},
        {"attach", "not a sweep: attaching all groups to a meta-group", make_attach},
    });
    return ways;
}

}  // namespace bench
