// SPDX-License-Identifier: MIT
// Disturbances of the machine: CPU hotplug, a PMU with errors, processes.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "support/random.hpp"
#include "world.hpp"

namespace stress {

// A process that is moved between two cgroups. To be made before there are threads: it forks.
class MovedProcess {
  public:
    MovedProcess();
    ~MovedProcess();
    MovedProcess(const MovedProcess&) = delete;
    MovedProcess& operator=(const MovedProcess&) = delete;

    // Both, to open events of; none, and a message, if the kernel has no cgroup events.
    std::vector<Fd> cgroups() const;
    void move(Random& random) const;

  private:
    std::vector<std::string> paths_;
    pid_t process_ = -1;
};

// Each call is one disturbance, which it undoes.

// A CPU goes offline and online. False if there is none that can: Linux 6.12 keeps some if others
// are isolated.
bool replug_cpu(World& world, Random& random);

// One of: fewer counters, so that groups are multiplexed; events of the test PMU move to another
// CPU; their reads fail for a moment. False if a CPU for it is offline.
bool disturb_pmu(const World& world, Random& random);

bool move_process(const MovedProcess& process, Random& random);

}  // namespace stress
