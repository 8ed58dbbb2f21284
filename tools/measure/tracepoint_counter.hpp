// SPDX-License-Identifier: MIT
// How often CPUs pass points of the kernel.
#pragma once

#include <cstdint>
#include <metagroup/cpu_list.hpp>
#include <metagroup/detail/unique_fd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "measure/ring.hpp"

namespace measure {

// The CPUs write down that they did, so that reading the count interrupts and wakes none.
class TracepointCounter {
  public:
    // Of events as in "power:cpu_idle"; of those that `filter`, if not empty, lets through. Throws
    // std::system_error if one cannot be counted, std::invalid_argument if the kernel has none
    // such.
    TracepointCounter(std::span<const int> cpus, const std::vector<std::string>& events,
                      const std::string& filter = {});

    // Since it was made, all together.
    std::uint64_t read();

    // Exits from idle.
    static TracepointCounter of_wakeups(std::span<const int> cpus);
    // Interrupts from CPU to CPU, where they arrive; nothing if this kernel does not tell.
    static std::optional<TracepointCounter> of_interrupts(std::span<const int> cpus);

  private:
    std::vector<metagroup::detail::UniqueFd> fds_;
    std::vector<Ring> rings_;
    std::uint64_t sum_ = 0;
};

}  // namespace measure
