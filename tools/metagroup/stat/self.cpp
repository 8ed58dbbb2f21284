// SPDX-License-Identifier: MIT
#include "stat/self.hpp"

namespace tool {

void Self::add_sweep(const metagroup::SnapshotView& snapshot) {
    duration_.add(snapshot.end_ns() - snapshot.begin_ns());
    skew_.add(snapshot.skew_ns());
}

void Self::add_tick(std::chrono::nanoseconds lateness) {
    lateness_.add(static_cast<std::uint64_t>(lateness.count()));
}

void Self::end(std::uint64_t missed) {
    missed_ = missed;
    cpu_use_ = used_.take();
}

}  // namespace tool
