// SPDX-License-Identifier: MIT
// The counts of members between the samples of a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <metagroup/snapshot.hpp>
#include <metagroup/stream.hpp>
#include <optional>
#include <vector>

#include "common/totals.hpp"

namespace tool {

// Adding allocates nothing once each member has been read.
class StreamCounts {
  public:
    // Counts begin with this sweep.
    explicit StreamCounts(const metagroup::Snapshot& first);

    // The counts since the last reading of each member. \return false if the deadline has none.
    bool add(const metagroup::Deadline& deadline, Totals& totals);
    void add(const metagroup::Snapshot& snapshot, Totals& totals);

  private:
    // One member as it was read last. Without counts until it was read.
    struct Reading {
        std::uint64_t enabled = 0;
        std::uint64_t running = 0;
        std::vector<std::uint64_t> counts{};
    };

    template <typename Member>
    void add(std::size_t index, const Member& member, Totals* totals);

    std::vector<Reading> last_;
};

}  // namespace tool
