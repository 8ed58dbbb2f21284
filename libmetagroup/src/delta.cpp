// SPDX-License-Identifier: MIT
#include <metagroup/delta.hpp>

namespace metagroup {
namespace {

Match compare(const MemberView& newer, const std::optional<MemberView>& older) noexcept {
    if (!older) return Match::joined;
    const auto& was = older->payload();
    const auto& is = newer.payload();
    if (!was || !is) return Match::unread;
    if (older->cpu() != newer.cpu() || was->read_format() != is->read_format() ||
        was->nr() != is->nr()) {
        return Match::changed;
    }
    if ((is->read_format() & ReadFormat::id) == 0) return Match::ok;
    for (std::size_t i = 0; i < is->nr(); ++i) {
        if (was->id(i) != is->id(i)) return Match::changed;
    }
    return Match::ok;
}

// A member keeps its index unless members change.
std::optional<MemberView> counterpart(const SnapshotView& snapshot, std::size_t index,
                                      std::uint32_t member) {
    std::optional<MemberView> found;
    if (index < snapshot.size()) found = snapshot[index];
    if (!found || found->member() != member) found = snapshot.find(member);
    return found;
}

}  // namespace

MemberDelta::MemberDelta(const SnapshotView& older, const SnapshotView& newer, std::size_t i)
    : newer_(newer[i]),
      older_(counterpart(older, i, newer_.member())),
      match_(compare(newer_, older_)) {}

std::optional<std::uint64_t> MemberDelta::elapsed_ns() const noexcept {
    if (match_ != Match::ok) return std::nullopt;
    return difference(older_->time_ns(), newer_.time_ns());
}

std::optional<double> MemberDelta::scaled(std::size_t i) const noexcept {
    const auto count = raw(i);
    const auto enabled = time_enabled();
    const auto running = time_running();
    if (!count || !enabled || !running) return std::nullopt;
    return scale_count(*count, *enabled, *running);
}

MemberDelta Delta::operator[](std::size_t i) const {
    return {older_, newer_, i};
}

std::size_t Delta::removed_count() const noexcept {
    std::size_t removed = 0;
    for (const MemberView& old : older_) {
        if (!newer_.find(old.member())) ++removed;
    }
    return removed;
}

std::optional<std::uint64_t> Delta::elapsed_ns() const noexcept {
    if (newer_.begin_ns() < older_.begin_ns()) return std::nullopt;
    return newer_.begin_ns() - older_.begin_ns();
}

}  // namespace metagroup
