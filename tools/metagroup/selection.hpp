// SPDX-License-Identifier: MIT
// What to count, on which CPUs, by which way: the options that all subcommands share.
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

    // What the options ask for. \throws std::invalid_argument that names option and remedy.
    metagroup::MetaGroup::Options options() const;

  private:
    std::string events_;
    std::string cpus_ = "online";
    std::string cgroup_;
    std::string backend_ = "auto";
    std::string device_ = PERF_METAGROUP_DEVICE;
    metagroup::Mode mode_;
};

// What is counted if nobody says: hardware events where there is a PMU for them.
std::string default_events();

}  // namespace tool
