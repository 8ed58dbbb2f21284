// SPDX-License-Identifier: MIT
// Counts of system calls, of calls inside the kernel, and of interrupts between CPUs.
#pragma once

#include <cstdint>
#include <metagroup/detail/unique_fd.hpp>
#include <string>
#include <vector>

namespace measure {

// The sum of some perf events while started.
class EventCounter {
  public:
    void start();
    std::uint64_t stop();

  protected:
    EventCounter() = default;

    // Started in this order, stopped in the reverse order.
    std::vector<metagroup::detail::UniqueFd> fds_;
};

// System calls of this process, by the tracepoint raw_syscalls:sys_enter: those of the threads that
// exist when the counter is made. Calls that start and stop the counter are not included.
class SyscallCounter : public EventCounter {
  public:
    // Throws std::system_error if the tracepoint cannot be used.
    SyscallCounter();

    std::uint64_t stop();
};

// Calls of kernel functions by the calling thread, by kprobes. The system calls that start and stop
// the counter may be included.
class KernelCallCounter : public EventCounter {
  public:
    // Throws std::system_error if a function cannot be probed.
    explicit KernelCallCounter(const std::vector<std::string>& functions);
};

// Interrupts between CPUs since boot, of all CPUs together, from /proc/interrupts: function calls,
// as in broadcasts and in read() of a perf event; rescheduling, which wakes a thread elsewhere; and
// IRQ work. Throws std::runtime_error if /proc/interrupts does not list them.
std::uint64_t interprocessor_interrupts();

}  // namespace measure
