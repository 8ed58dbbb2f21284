// SPDX-License-Identifier: MIT
#include "stat/self.hpp"

#include <ctime>

namespace tool {
namespace {

// Of this process, without children.
std::chrono::nanoseconds cpu_time() {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

Self::Self() : start_(std::chrono::steady_clock::now()), cpu_start_(cpu_time()) {}

void Self::add_sweep(const metagroup::SnapshotView& snapshot) {
    duration_.add(snapshot.end_ns() - snapshot.begin_ns());
    skew_.add(snapshot.skew_ns());
}

void Self::add_tick(std::chrono::nanoseconds lateness) {
    lateness_.add(static_cast<std::uint64_t>(lateness.count()));
}

void Self::end(std::uint64_t missed) {
    missed_ = missed;
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    const std::chrono::duration<double> used = cpu_time() - cpu_start_;
    cpu_use_ = used / elapsed;
}

}  // namespace tool
