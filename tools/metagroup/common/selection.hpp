// SPDX-License-Identifier: MIT
// The events, CPUs and backend to count with: the options that all counting subcommands share.
#pragma once

#include <CLI/App.hpp>
#include <metagroup/metagroup.hpp>
#include <string>

namespace tool {

class Selection {
  public:
    void add_options(CLI::App& app);

    // Empty: all tasks.
    const std::string& cgroup() const { return cgroup_; }

    // \throws std::invalid_argument that names option and remedy.
    metagroup::MetaGroup::Options options() const;

  private:
    std::string events_;
    std::string cpus_ = "online";
    std::string cgroup_;
    std::string backend_ = "auto";
    std::string device_ = PERF_METAGROUP_DEVICE;
    metagroup::Mode mode_;
};

// The events that are counted without -e: hardware events where there is a PMU for them.
std::string default_events();

// True unless this machine lacks an event or PMU of the group. Missing permission, descriptors or
// free counters are reported when the group is opened for counting.
bool can_count(const std::string& group);

}  // namespace tool
