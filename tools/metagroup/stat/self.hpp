// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <metagroup/snapshot_view.hpp>

#include "cpu_use.hpp"
#include "histogram.hpp"

namespace tool {

// What the monitor says of itself.
class Self {
  public:
    void add_sweep(const metagroup::SnapshotView& snapshot);
    void add_tick(std::chrono::nanoseconds lateness);
    void end(std::uint64_t missed);

    std::uint64_t sweeps() const { return duration_.count(); }
    std::uint64_t missed() const { return missed_; }
    // Nanoseconds.
    const Histogram& lateness() const { return lateness_; }
    const Histogram& duration() const { return duration_; }
    const Histogram& skew() const { return skew_; }
    // The part of one CPU that this process has used, 0 to 1.
    double cpu_use() const { return cpu_use_; }

  private:
    CpuUse used_;
    Histogram lateness_;
    Histogram duration_;
    Histogram skew_;
    std::uint64_t missed_ = 0;
    double cpu_use_ = 0;
};

}  // namespace tool
