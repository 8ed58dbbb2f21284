// SPDX-License-Identifier: MIT
// A process that wanders between cgroups.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "world.hpp"

namespace stress {

// To be made before there are threads: it forks.
class Wanderer {
  public:
    Wanderer();
    ~Wanderer();
    Wanderer(const Wanderer&) = delete;
    Wanderer& operator=(const Wanderer&) = delete;

    // To open events of; none, and a line that says why, if the kernel has no cgroup events.
    std::vector<Fd> cgroups() const;
    void move(Random& random) const;

  private:
    std::vector<std::string> paths_;
    pid_t process_ = -1;
};

}  // namespace stress
