// SPDX-License-Identifier: MIT
/// \file
/// Topology: the cores, dies, sockets and nodes of CPUs.
#pragma once

#include <metagroup/export.hpp>
#include <string>
#include <vector>

namespace metagroup {

/// The position of a CPU in its machine; -1 if not known. Cores are numbered per die, and dies per
/// socket.
struct CpuPlace {
    int socket = -1;
    int die = -1;
    int core = -1;
    int node = -1;
    int cache_level = -1;  ///< level of its last-level cache: 3 for L3
    int cache = -1;        ///< number of that cache among those of its level
    friend bool operator==(const CpuPlace&, const CpuPlace&) = default;
};

/// The positions of this machine's CPUs, by CPU number. Those of offline CPUs are not known.
/// `sysfs` is the directory of the CPUs and nodes. \throws Error if a file there cannot be read.
METAGROUP_API std::vector<CpuPlace> read_topology(const std::string& sysfs = "/sys/devices/system");

}  // namespace metagroup
