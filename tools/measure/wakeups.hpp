// SPDX-License-Identifier: MIT
// How often CPUs come out of idle.
#pragma once

#include <cstdint>
#include <metagroup/cpu_list.hpp>
#include <metagroup/detail/unique_fd.hpp>
#include <vector>

namespace measure {

// Counts the exits from idle on some CPUs, by the tracepoint power:cpu_idle. Reading the count
// wakes each of them once.
class WakeupCounter {
  public:
    // Throws std::system_error if the tracepoint cannot be used.
    explicit WakeupCounter(std::span<const int> cpus);

    // Since it was made, on all the CPUs together.
    std::uint64_t read() const;

  private:
    std::vector<metagroup::detail::UniqueFd> fds_;
};

}  // namespace measure
