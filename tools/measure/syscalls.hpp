// SPDX-License-Identifier: MIT
// System calls as the kernel counts them.
#pragma once

#include <cstdint>
#include <metagroup/detail/unique_fd.hpp>
#include <vector>

namespace measure {

// Counts the system calls of this process while started, by the tracepoint raw_syscalls:sys_enter:
// those of the threads that it has when the counter is made. The calls that start and stop it are
// not counted.
class SyscallCounter {
  public:
    // Throws std::system_error if the tracepoint cannot be used.
    SyscallCounter();

    void start();
    std::uint64_t stop();

  private:
    std::vector<metagroup::detail::UniqueFd> fds_;  // the calling thread's is the last
};

}  // namespace measure
