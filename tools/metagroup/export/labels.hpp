// SPDX-License-Identifier: MIT
// The labels of CPUs. The counts of CPUs with the same labels are added up.
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

    // Numbers of cores begin again in each die, and those of dies in each socket, so `core` has the
    // labels die and socket as well, and `die` the label socket. `sysfs` as of Aggregation.
    // \throws std::system_error if the topology of a CPU cannot be read.
    Labels(const std::vector<std::string>& names, const metagroup::CpuList& cpus,
           const std::string& sysfs = "/sys/devices/system");

    const std::vector<LabelSet>& sets() const { return sets_; }
    // The place in sets().
    std::size_t index_of(int cpu) const { return index_[static_cast<std::size_t>(cpu)]; }

  private:
    std::vector<LabelSet> sets_;
    std::vector<std::size_t> index_;  // by CPU
};

}  // namespace tool
