// SPDX-License-Identifier: MIT
// What all ways read.
#pragma once

#include <chrono>
#include <metagroup/cpu_list.hpp>
#include <metagroup/device.hpp>
#include <metagroup/event_spec.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "measure/cpu_groups.hpp"

namespace bench {

class Subject {
  public:
    Subject(std::vector<metagroup::GroupSpec> specs, const metagroup::CpuList& cpus,
            std::chrono::nanoseconds sampling_period)
        : specs_(std::move(specs)), groups_(specs_, cpus), sampling_period_(sampling_period) {}

    const metagroup::CpuList& cpus() const { return groups_.cpus(); }
    const std::vector<metagroup::GroupSpec>& specs() const { return specs_; }
    measure::CpuGroups& groups() { return groups_; }

    // How often a way that samples by itself is to do so.
    std::chrono::nanoseconds sampling_period() const { return sampling_period_; }

    // The one meta-group of these groups: a group can be in one only. Throws std::system_error if
    // the module is not there.
    metagroup::Device& device() {
        if (!device_) {
            metagroup::Device device = metagroup::Device::open();
            device.attach(groups_.leaders());
            device_ = std::move(device);
        }
        return *device_;
    }

  private:
    std::vector<metagroup::GroupSpec> specs_;
    measure::CpuGroups groups_;
    std::optional<metagroup::Device> device_;
    std::chrono::nanoseconds sampling_period_;
};

}  // namespace bench
