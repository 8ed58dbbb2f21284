// SPDX-License-Identifier: MIT
// The cost of a sweep with the module and without it, measured in turns on the same event groups.
#pragma once

#include <cstddef>
#include <metagroup/cpu_list.hpp>
#include <metagroup/device.hpp>
#include <metagroup/event_spec.hpp>
#include <metagroup/snapshot.hpp>
#include <optional>
#include <string>

#include "measure/cpu_groups.hpp"

namespace tool {

// Event groups that can be read both ways.
class Sides {
  public:
    // One group per CPU, all attached to one meta-group, all counting.
    // \throws std::system_error that names what is missing.
    Sides(const metagroup::GroupSpec& group, const metagroup::CpuList& cpus,
          const std::string& device);

    // One read() of the device.
    void read_module() { device_.read(snapshot_); }
    // One read() per CPU.
    void read_per_fd() { groups_.read(payloads_); }

    std::size_t cpus() const { return groups_.cpus().size(); }

    // Stops counting for a moment. \return true if both ways read the same counts.
    bool agree();

  private:
    bool same(std::size_t member);

    measure::CpuGroups groups_;
    metagroup::Device device_;
    metagroup::Snapshot snapshot_;
    measure::Payloads payloads_;
};

// Per sweep. Counts are empty where the kernel does not allow or support them.
struct Cost {
    double microseconds = 0;  // median
    std::optional<double> syscalls;
    std::optional<double> mutexes;     // taken by the reader in the kernel
    std::optional<double> waits;       // of the reader for other CPUs, one after the other
    std::optional<double> interrupts;  // from CPU to CPU, on the whole machine
};

struct Comparison {
    Cost per_fd;
    Cost module;
    std::string unknown;  // the reason why a count is empty
};

// `sweeps` of each way. The calling thread should be bound to a CPU.
Comparison compare(Sides& sides, unsigned sweeps);

}  // namespace tool
