// SPDX-License-Identifier: MIT
// Counts of tracepoints on CPUs.
#pragma once

#include <cstdint>
#include <metagroup/cpu_list.hpp>
#include <metagroup/detail/unique_fd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ring.hpp"

namespace bench {

// The CPUs write samples to rings, so that reading the counts interrupts and wakes no CPU.
class TracepointCounter {
  public:
    // Events are named as in "power:cpu_idle"; an empty filter passes all samples. Throws
    // std::system_error if an event cannot be counted, metagroup::Error if there is no such event.
    TracepointCounter(std::span<const int> cpus, const std::vector<std::string>& events,
                      const std::string& filter = {});

    // All samples since the construction.
    std::uint64_t read();

    // Exits from idle.
    static TracepointCounter of_wakeups(std::span<const int> cpus);
    // Interrupts between CPUs, on the receiving CPU; nothing if this kernel has no tracepoint.
    static std::optional<TracepointCounter> of_interrupts(std::span<const int> cpus);

  private:
    std::vector<metagroup::detail::UniqueFd> fds_;
    std::vector<Ring> rings_;
    std::uint64_t sum_ = 0;
};

}  // namespace bench
