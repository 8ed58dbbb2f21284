// SPDX-License-Identifier: MIT
// A program of a guest holds static keys of perf while it runs. Tests open and close events all the
// time; with the first and the last of a kind the kernel patches its scheduler and its page faults
// by way of an int3, which takes all CPUs, and which emulated CPUs get wrong at times (see
// ../vm/judge).
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace {

// Of the parent, which waits: one that is bound to a task holds perf_sched_events as well. Where
// they cannot be opened, all works as well, if slower.
[[maybe_unused]] const bool static_keys_held = [] {
    for (const auto event : std::array{PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS,
                                       PERF_COUNT_SW_PAGE_FAULTS}) {
        perf_event_attr attr{};
        attr.size = sizeof(attr);
        attr.type = PERF_TYPE_SOFTWARE;
        attr.config = event;
        attr.disabled = 1;
        ::syscall(SYS_perf_event_open, &attr, ::getppid(), -1, -1, PERF_FLAG_FD_CLOEXEC);
    }
    return true;
}();

}  // namespace
