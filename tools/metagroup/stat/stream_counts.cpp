// SPDX-License-Identifier: MIT
#include "stat/stream_counts.hpp"

namespace tool {
namespace {

// In the shape of metagroup::MemberDelta.
template <typename Reading, typename Member>
struct Difference {
    std::optional<std::uint64_t> time_enabled() const {
        return *newer.time_enabled() - older.enabled;
    }
    std::optional<std::uint64_t> time_running() const {
        return *newer.time_running() - older.running;
    }
    // Nothing if the count went back: it was reset.
    std::optional<std::uint64_t> raw(std::size_t event) const {
        const std::uint64_t count = *newer.raw(event) - older.counts[event];
        return count > UINT64_MAX / 2 ? std::nullopt : std::optional(count);
    }

    const Reading& older;
    const Member& newer;
};

}  // namespace

StreamCounts::StreamCounts(const metagroup::Snapshot& first) : last_(first.size()) {
    for (std::size_t i = 0; i < last_.size(); ++i)
        add(i, first[i], nullptr);
}

bool StreamCounts::add(const metagroup::Deadline& deadline, Totals& totals) {
    bool any = false;
    for (const metagroup::Sample& sample : deadline) {
        add(sample.index(), sample, &totals);
        any = any || sample.nr() > 0;
    }
    return any;
}

void StreamCounts::add(const metagroup::Snapshot& snapshot, Totals& totals) {
    for (std::size_t i = 0; i < last_.size(); ++i)
        add(i, snapshot[i], &totals);
}

template <typename Member>
void StreamCounts::add(std::size_t index, const Member& member, Totals* totals) {
    if (member.nr() == 0 || !member.time_enabled() || !member.time_running()) return;
    Reading& last = last_[index];
    // A member that is read late keeps its newest counts: see Stream::read().
    if (*member.time_enabled() < last.enabled) return;
    if (totals != nullptr && last.counts.size() == member.nr())
        totals->add_member(index, Difference<Reading, Member>{last, member});
    last.enabled = *member.time_enabled();
    last.running = *member.time_running();
    last.counts.resize(member.nr());
    for (std::size_t event = 0; event < last.counts.size(); ++event)
        last.counts[event] = *member.raw(event);
}

}  // namespace tool
