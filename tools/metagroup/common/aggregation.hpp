// SPDX-License-Identifier: MIT
// The rows that counts are added up in: one for all CPUs, or one per CPU, core, last-level cache,
// die, socket or node.
#pragma once

#include <cstddef>
#include <metagroup/cpu_list.hpp>
#include <metagroup/topology.hpp>
#include <span>
#include <string>
#include <vector>

namespace tool {

// The places of this machine's CPUs, by CPU number up to the last of `cpus`. Dies and nodes that
// are not known are 0, since not all architectures have dies, nor all kernels nodes. \throws
// std::system_error if `sockets` and the socket and core of one of them cannot be read.
std::vector<metagroup::CpuPlace> read_places(const metagroup::CpuList& cpus, bool sockets,
                                             const std::string& sysfs);

enum class AggrMode { all, cpu, core, cache, die, socket, node };

struct Place {
    // As in perf stat: CPU3, S0-D0-C1, S0-D0-L3-ID0, S0-D0, S0, N0; empty for all CPUs.
    std::string name;
    metagroup::CpuList cpus{};
};

class Aggregation {
  public:
    // `sysfs` is the directory of the machine's CPUs and nodes.
    // \throws std::system_error if the topology of a CPU cannot be read.
    Aggregation(AggrMode mode, const metagroup::CpuList& cpus,
                const std::string& sysfs = "/sys/devices/system");
    // `topology` is that of another machine, by CPU. Unknown sockets and cores
    // are -1. \throws std::system_error if caches are the rows and that of a CPU is not known.
    Aggregation(AggrMode mode, const metagroup::CpuList& cpus,
                std::span<const metagroup::CpuPlace> topology);

    // A single place, without a CPU.
    static const Aggregation& one();

    AggrMode mode() const { return mode_; }
    const std::vector<Place>& places() const { return places_; }
    std::size_t index_of(int cpu) const { return index_[static_cast<std::size_t>(cpu)]; }

  private:
    template <typename KeyOf>
    void find_places(const metagroup::CpuList& cpus, const KeyOf& key_of);

    AggrMode mode_;
    std::vector<Place> places_;
    std::vector<std::size_t> index_;  // by CPU
};

}  // namespace tool
