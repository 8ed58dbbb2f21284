// SPDX-License-Identifier: MIT
#include "snapshot_check.hpp"

#include <stdexcept>
#include <string>

namespace metagroup::test {

void SnapshotCheck::check(const Framed& framed) {
    const auto demand = [&](bool condition, const std::string& what) {
        if (!condition)
            throw std::runtime_error("sweep " + std::to_string(framed.head.sequence) + ": " + what);
    };
    demand(framed.head.sequence >= sequence_, "the sequence went back");
    sequence_ = framed.head.sequence;
    const Frame* before = nullptr;
    for (const Frame& frame : framed.frames) {
        const auto& record = frame.record;
        const std::string member = "member " + std::to_string(record.member) + ", status " +
                                   std::to_string(record.status) + ": ";
        demand(!before || record.member > before->record.member, member + "numbers do not rise");
        before = &frame;
        idle_ += record.status == PERF_METAGROUP_IDLE;
        if (frame.payload.empty()) continue;

        // The number of events, the times, a count of each event.
        const auto payload = words(frame.payload);
        demand(payload.size() >= 4 && payload.size() == 3 + payload[0],
               member + "a payload is not as long as it says");
        Last& last = last_[record.member];
        const Last now{record.time, payload[1], payload[2], payload[3]};
        demand(now.running <= now.enabled, member + "more time running than enabled");
        demand(now.time >= last.time, member + "the time of the record went back");
        demand(now.enabled >= last.enabled, member + "the time enabled went back");
        demand(now.running >= last.running, member + "the time running went back");
        demand(now.count >= last.count, member + "the count went back");
        last = now;
    }
}

}  // namespace metagroup::test
