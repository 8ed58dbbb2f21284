// SPDX-License-Identifier: MIT
// Assertions that several Catch2 tests make.
#pragma once

#include <catch2/catch_test_macros.hpp>

#include <vector>

#include "meta.hpp"

namespace metagroup::test {

// Word by word, which is true of counts, times, ids and numbers of events.
inline void require_between(const Bytes& before, const Bytes& now, const Bytes& after) {
    const auto low = words(before), mine = words(now), high = words(after);
    REQUIRE(mine.size() == low.size());
    for (std::size_t i = 0; i < mine.size(); ++i) {
        CAPTURE(i);
        REQUIRE(low[i] <= mine[i]);
        REQUIRE(mine[i] <= high[i]);
    }
}

// A RAW read is between two read(2)s of each leader.
inline void require_between_own_reads(const Meta& meta, const std::vector<EventGroup>& groups) {
    const Bytes before = concatenated(groups);
    const Bytes ours = meta.read();
    require_between(before, ours, concatenated(groups));
}

}  // namespace metagroup::test
