// SPDX-License-Identifier: MIT
// The labels of CPUs. Counts of CPUs with the same labels are added up.
#pragma once

#include <cstddef>
#include <metagroup/cpu_list.hpp>
#include <string>
#include <vector>

#include "export/exposition.hpp"

namespace tool {

class Labels {
  public:
    static std::vector<std::string> names();

    // Cores are numbered per die, and dies per socket, so `core` adds the labels die and socket,
    // and `die` adds socket. `sysfs` is as in Aggregation. \throws Error if the topology of a
    // CPU cannot be read.
    Labels(const std::vector<std::string>& names, const metagroup::CpuList& cpus,
           const std::string& sysfs = "/sys/devices/system");

    const std::vector<LabelSet>& sets() const { return sets_; }
    // The index in sets().
    std::size_t index_of(int cpu) const { return index_[static_cast<std::size_t>(cpu)]; }

  private:
    std::vector<LabelSet> sets_;
    std::vector<std::size_t> index_;  // by CPU
};

}  // namespace tool
