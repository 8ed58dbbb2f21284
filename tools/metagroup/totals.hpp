// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <metagroup/delta.hpp>
#include <metagroup/metagroup.hpp>
#include <optional>
#include <string>
#include <vector>

#include "places.hpp"

namespace tool {

// What an event counted at a place, estimated where it was not on the PMU all the time.
struct Count {
    double value = 0;           // in the event's unit
    std::uint64_t enabled = 0;  // ns, of all CPUs
    std::uint64_t running = 0;  // ns
    std::size_t cpus = 0;       // with a count

    bool known() const { return cpus > 0 && running > 0; }
    // The part of the time that it was counted, 0 to 1.
    double coverage() const;
};

// The events of all groups, one column each.
struct Column {
    std::string event;
    std::string unit;
    double scale = 1;
};

// Sums of deltas: a row for each place, a column for each event. Adding allocates nothing.
class Totals {
  public:
    Totals(const metagroup::MetaGroup& group, const Places& places);

    void clear();
    void add(const metagroup::Delta& delta);

    const std::vector<Column>& columns() const { return columns_; }
    const Count& at(std::size_t place, std::size_t column) const {
        return counts_[place * columns_.size() + column];
    }

  private:
    struct Target {
        std::size_t first = 0;  // of counts_
        std::size_t events = 0;
    };

    std::vector<Column> columns_;
    std::vector<Target> targets_;  // by member
    std::vector<Count> counts_;
};

}  // namespace tool
