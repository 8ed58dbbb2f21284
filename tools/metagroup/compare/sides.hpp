// SPDX-License-Identifier: MIT
// The same event groups, held so that they can be read in both ways.
#pragma once

#include <metagroup/cpu_list.hpp>
#include <metagroup/device.hpp>
#include <metagroup/event_spec.hpp>
#include <metagroup/snapshot.hpp>
#include <string>

#include "measure/cpu_groups.hpp"

namespace tool {

class Sides {
  public:
    // One group per CPU, all attached to one meta-group, all counting.
    // \throws std::system_error that names what is missing.
    Sides(const metagroup::GroupSpec& group, const metagroup::CpuList& cpus,
          const std::string& device);

    // One read() of the device: all CPUs.
    void read_module() { device_.read(snapshot_); }
    // One read() per CPU.
    void read_per_fd() { groups_.read(payloads_); }

    // Stops counting for a moment, when both must give the same numbers. \return whether they do.
    bool agree();

  private:
    bool same(std::size_t member);

    measure::CpuGroups groups_;
    metagroup::Device device_;
    metagroup::Snapshot snapshot_;
    measure::Payloads payloads_;
};

}  // namespace tool
