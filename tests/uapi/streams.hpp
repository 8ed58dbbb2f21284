// SPDX-License-Identifier: MIT
// Conditions that tests of streams wait for.
#pragma once

#include "fixtures.hpp"

namespace metagroup::test {

using namespace std::chrono_literals;

// Drains a ring until a record is as wanted. Fails if none is for a minute.
inline RingRecord wait_for(MappedRing& ring, const std::function<bool(const RingRecord&)>& wanted) {
    std::optional<RingRecord> found;
    repeat_for(
        0ms,
        [&] {
            std::this_thread::sleep_for(1ms);
            for (const RingRecord& record : ring.drain())
                if (!found && wanted(record)) found = record;
        },
        [&] { return found.has_value(); });
    REQUIRE(found);
    return *found;
}

inline auto sample_of(const EventGroup& group) {
    return [id = group.id(0)](const RingRecord& r) { return r.is_sample() && r.id == id; };
}

// Removes what is there, and checks what comes within 50 ms.
inline bool any_within_50_ms(MappedRing& ring,
                             const std::function<bool(const RingRecord&)>& wanted) {
    ring.drain();
    std::this_thread::sleep_for(50ms);
    const auto records = ring.drain();
    return std::any_of(records.begin(), records.end(), wanted);
}

struct OneCpu {
    MaxStreamPercent no_limit{100};
    int cpu = online_cpus().back();
};

}  // namespace metagroup::test
