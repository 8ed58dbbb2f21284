// SPDX-License-Identifier: MIT
/// \file
/// Aggregation: the rows in which counts are summed: one for all CPUs, or one per CPU, core,
/// last-level cache, die, socket or node.
#pragma once

#include <cstddef>
#include <metagroup/cpu_list.hpp>
#include <metagroup/export.hpp>
#include <metagroup/topology.hpp>
#include <span>
#include <string>
#include <vector>

namespace metagroup {

enum class AggrMode { all, cpu, core, cache, die, socket, node };

/// One row.
struct Place {
    /// As in perf stat: CPU3, S0-D0-C1, S0-D0-L3-ID0, S0-D0, S0, N0; empty for all CPUs, `unknown`
    /// for CPUs whose topology is not known, such as offline CPUs.
    std::string name{};
    CpuList cpus{};
};

/// The rows for a list of CPUs.
class METAGROUP_API Aggregation {
  public:
    /// `sysfs` is the directory of the machine's CPUs and nodes. \throws Error if it does not
    /// describe the topology that this mode needs.
    Aggregation(AggrMode mode, const CpuList& cpus,
                const std::string& sysfs = "/sys/devices/system");
    /// `topology` describes another machine, by CPU. \throws as above.
    Aggregation(AggrMode mode, const CpuList& cpus, std::span<const CpuPlace> topology);

    [[nodiscard]] AggrMode mode() const noexcept { return mode_; }
    [[nodiscard]] const std::vector<Place>& places() const noexcept { return places_; }
    /// The row of one of the CPUs.
    [[nodiscard]] std::size_t index_of(int cpu) const {
        return index_[static_cast<std::size_t>(cpu)];
    }

  private:
    AggrMode mode_;
    std::vector<Place> places_;
    std::vector<std::size_t> index_;  // by CPU
};

}  // namespace metagroup
