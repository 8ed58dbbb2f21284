// SPDX-License-Identifier: MIT
#include <array>

#include "methods/method.hpp"

namespace bench {

// The only list of methods: --help, the JSON results and so the report take it from here.
std::span<const MethodInfo> all_methods() {
    static constexpr auto methods = std::to_array<MethodInfo>({
        {"per_fd", Role::existing, "a read() of each group leader, one CPU after the other",
         make_per_fd},
        {"migrating", Role::existing, "the same, by a thread that moves to each CPU first",
         make_migrating},
        {"threads", Role::existing, "a thread on each CPU reads its own, all at once",
         make_threads},
        {"io_uring", Role::existing, "the read()s of per_fd in one submission to io_uring",
         make_io_uring},
        {"sampling", Role::existing,
         "a timer on each CPU samples (PERF_SAMPLE_READ); a sweep empties the buffers",
         make_sampling},
        {"bpf", Role::existing, "a BPF program on each CPU reads the counters into a map",
         make_bpf},
        {"raw", Role::module, "one read() of the module in RAW format", make_raw},
        {"framed", Role::module, "one read() of the module, each record with its CPU and time",
         make_framed},
        {"mapped", Role::module, "one sweep of the module into memory that it shares", make_mapped},
        {"quiet", Role::module, "as mapped, with events of a core PMU; idle CPUs are not woken",
         make_quiet},
        {"stream", Role::module,
         "a timer on each CPU samples (the module); a sweep is one of 64 deadlines that are read "
         "at once",
         make_stream},
        {"floor", Role::floor, "an empty broadcast to the same CPUs (metagroup_floor.ko)",
         make_floor},
        {"null_syscall", Role::reference, "a system call that does nothing", make_null_syscall},
        {"attach", Role::setup, "attaching all groups to a meta-group", make_attach},
    });
    return methods;
}

const char* to_string(Role role) {
    static constexpr std::array names{"existing", "module", "floor", "reference", "setup"};
    return names.at(static_cast<std::size_t>(role));
}

}  // namespace bench
