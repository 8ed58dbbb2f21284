// SPDX-License-Identifier: MIT
#include "common/overhead.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <ctime>

namespace tool {

std::chrono::nanoseconds cpu_time() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

double CpuUse::take() {
    const CpuUse now;
    const std::chrono::duration<double> elapsed = now.since_ - since_;
    const std::chrono::duration<double> used = now.used_ - used_;
    *this = now;
    return used / elapsed;
}

// Values below kSteps have a bucket each; for larger ones the highest bits select it.
std::size_t Histogram::bucket(std::uint64_t value) {
    if (value < kSteps) return value;
    const std::size_t shift = static_cast<std::size_t>(std::bit_width(value)) - kStepBits - 1;
    return (shift + 1) * kSteps + ((value >> shift) - kSteps);
}

std::uint64_t Histogram::upper_end(std::size_t bucket) {
    if (bucket < kSteps) return bucket;
    const std::size_t shift = bucket / kSteps - 1;
    return ((bucket % kSteps + kSteps + 1) << shift) - 1;
}

void Histogram::add(std::uint64_t value) {
    ++buckets_[bucket(value)];
    ++count_;
    max_ = std::max(max_, value);
}

std::uint64_t Histogram::quantile(double part) const {
    const auto wanted = static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(count_)));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
        seen += buckets_[i];
        if (seen >= wanted && seen > 0) return std::min(upper_end(i), max_);
    }
    return 0;
}

void Overhead::add_deadline(const metagroup::Deadline& deadline) {
    std::uint64_t oldest = UINT64_MAX;
    std::uint64_t newest = 0;
    for (const metagroup::Sample& sample : deadline) {
        missed += sample.lost();
        // A late sample comes with a later deadline than its own.
        if (sample.lost() > 0 || sample.time_ns() < deadline.time_ns()) continue;
        oldest = std::min(oldest, sample.time_ns());
        newest = std::max(newest, sample.time_ns());
        lateness.add(sample.time_ns() - deadline.time_ns());
    }
    if (newest == 0) return;
    ++deadlines;
    skew.add(newest - oldest);
}

}  // namespace tool
