// SPDX-License-Identifier: MIT
// The cost of counting: CPU time of this process, and durations of its sweeps.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <metagroup/snapshot.hpp>
#include <metagroup/stream.hpp>

namespace tool {

// CPU time of this process, without its children.
std::chrono::nanoseconds cpu_time();

// The share of one CPU that this process uses.
class CpuUse {
  public:
    // Since the last call, or the construction; up to 1 for each thread.
    double take();

  private:
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
    std::chrono::nanoseconds used_ = cpu_time();
};

// Quantiles of any number of values in constant memory, exact to one part in 32.
class Histogram {
  public:
    void add(std::uint64_t value);
    std::uint64_t count() const { return count_; }
    // The upper end of the bucket below which this part (0 to 1) of all values lies; 0 if there
    // are none.
    std::uint64_t quantile(double part) const;
    std::uint64_t max() const { return max_; }

  private:
    // Each power of two has this many buckets.
    static constexpr std::size_t kStepBits = 5;
    static constexpr std::size_t kSteps = 1U << kStepBits;

    static std::size_t bucket(std::uint64_t value);
    static std::uint64_t upper_end(std::size_t bucket);

    std::array<std::uint64_t, (64 - kStepBits + 1) * kSteps> buckets_{};
    std::uint64_t count_ = 0;
    std::uint64_t max_ = 0;
};

// Times in nanoseconds.
struct Overhead {
    void add_sweep(const metagroup::SnapshotView& snapshot) {
        duration.add(snapshot.end_ns() - snapshot.begin_ns());
        skew.add(snapshot.skew_ns());
    }
    void add_deadline(const metagroup::Deadline& deadline);
    std::uint64_t sweeps() const { return duration.count(); }

    Histogram duration;           // of sweeps
    Histogram skew;               // newest minus oldest record of a sweep or deadline
    Histogram lateness;           // of ticks, or of samples
    std::uint64_t missed = 0;     // ticks, or samples
    std::uint64_t deadlines = 0;  // of a stream
    double cpu_use = 0;           // share of one CPU, 0 to 1
};

}  // namespace tool
