// SPDX-License-Identifier: MIT
// The same event groups, held so that they can be read in both ways.
#pragma once

#include <metagroup/cpu_list.hpp>
#include <metagroup/device.hpp>
#include <metagroup/event_spec.hpp>
#include <metagroup/snapshot.hpp>
#include <vector>

#include "measure/cpu_groups.hpp"

namespace demo {

class Sides {
  public:
    // One group per CPU, all attached to one meta-group, all counting.
    Sides(const metagroup::GroupSpec& group, const metagroup::CpuList& cpus);

    void enable() { device_.enable(); }
    void disable() { device_.disable(); }

    // One read() of the device: all CPUs.
    void read_module() { device_.read(snapshot_); }
    const metagroup::Snapshot& snapshot() const { return snapshot_; }

    // One read() per CPU. Payload i is that of CPU i of the list.
    void read_per_fd();
    metagroup::Payload payload(std::size_t i);

    std::size_t size() const { return groups_.cpus().size(); }

  private:
    measure::CpuGroups groups_;
    metagroup::Device device_;
    metagroup::Snapshot snapshot_;
    measure::Payloads payloads_;
};

}  // namespace demo
