// SPDX-License-Identifier: MIT
// Invariants of the snapshots of one meta-group, in the order in which they are read.
#pragma once

#include <cstdint>
#include <map>

#include "meta.hpp"

namespace metagroup::test {

// All members have PERF_FORMAT_GROUP and both times as read_format.
class SnapshotCheck {
  public:
    // Throws std::runtime_error if one does not hold: the sequence and the numbers of members rise,
    // a payload is as long as its number of events says, no group runs for longer than it was
    // enabled, and no count and no time goes back.
    void check(const Framed& framed);

    unsigned idle() const { return idle_; }  // records with status IDLE so far

  private:
    struct Last {
        std::uint64_t time = 0, enabled = 0, running = 0, count = 0;
    };
    std::uint64_t sequence_ = 0;
    std::map<unsigned, Last> last_;
    unsigned idle_ = 0;
};

}  // namespace metagroup::test
