// SPDX-License-Identifier: MIT
/// \file
/// Topology: the cores, dies, sockets and nodes of CPUs.
#pragma once

#include <metagroup/export.hpp>
#include <string>
#include <vector>

namespace metagroup {

/// The place of a CPU in its machine; -1 if not known. Numbers of cores begin again in each die,
/// and those of dies in each socket.
struct CpuPlace {
    int socket = -1;
    int die = -1;
    int core = -1;
    int node = -1;
    int cache_level = -1;  ///< of its last-level cache: 3 for L3
    int cache = -1;        ///< the number of that cache among those of its level
    friend bool operator==(const CpuPlace&, const CpuPlace&) = default;
};

/// The places of this machine's CPUs, by CPU number. Nothing is known of CPUs that are offline.
/// `sysfs` is the directory of its CPUs and nodes. \throws Error if a file there cannot be read.
METAGROUP_API std::vector<CpuPlace> read_topology(const std::string& sysfs = "/sys/devices/system");

}  // namespace metagroup
