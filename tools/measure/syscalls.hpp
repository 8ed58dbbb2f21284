// SPDX-License-Identifier: MIT
// System calls as the kernel counts them.
#pragma once

#include <cstdint>

namespace measure {

// Counts the system calls of the calling thread while started, by the tracepoint
// raw_syscalls:sys_enter. The calls that start and stop it are not counted.
class SyscallCounter {
  public:
    // Throws std::system_error if the tracepoint cannot be used.
    SyscallCounter();
    ~SyscallCounter();
    SyscallCounter(const SyscallCounter&) = delete;
    SyscallCounter& operator=(const SyscallCounter&) = delete;

    void start();
    std::uint64_t stop();

  private:
    int fd_;
};

}  // namespace measure
