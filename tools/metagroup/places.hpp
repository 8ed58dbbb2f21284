// SPDX-License-Identifier: MIT
// Where counts are shown: one row for all CPUs, or one for each CPU, core, socket or node.
#pragma once

#include <cstddef>
#include <filesystem>
#include <metagroup/cpu_list.hpp>
#include <string>
#include <vector>

namespace tool {

enum class By { all, cpu, core, socket, node };

struct Place {
    std::string name;  // as perf stat names it: CPU3, S0-D0-C1, S0, N0; empty for all CPUs
    std::size_t cpus = 0;
};

class Places {
  public:
    // `sysfs` is the directory of the machine's CPUs and nodes.
    // \throws std::system_error if it does not tell where a CPU is.
    Places(By by, const metagroup::CpuList& cpus,
           const std::filesystem::path& sysfs = "/sys/devices/system");

    const std::vector<Place>& all() const { return places_; }
    std::size_t index_of(int cpu) const { return index_[static_cast<std::size_t>(cpu)]; }

  private:
    std::vector<Place> places_;
    std::vector<std::size_t> index_;  // by CPU
};

}  // namespace tool
