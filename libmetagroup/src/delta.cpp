// SPDX-License-Identifier: MIT
#include <metagroup/delta.hpp>

namespace metagroup {
namespace {

using Count = std::optional<std::uint64_t>;

// Counters are 64 bits wide and may wrap: subtract modulo 2^64. What then looks like more than half
// the range is a count that went back, which only a reset does.
Count forward(const Count& older, const Count& newer) noexcept {
    if (!older || !newer) return std::nullopt;
    const std::uint64_t difference = *newer - *older;
    if (difference > UINT64_MAX / 2) return std::nullopt;
    return difference;
}

Match compare(const MemberView& newer, const std::optional<MemberView>& older) noexcept {
    if (!older) return Match::joined;
    if (!older->payload() || !newer.payload()) return Match::unread;
    if (older->cpu() != newer.cpu() || older->read_format() != newer.read_format() ||
        older->nr() != newer.nr()) {
        return Match::changed;
    }
    if ((newer.read_format() & ReadFormat::id) == 0) return Match::ok;
    for (std::size_t i = 0; i < newer.nr(); ++i) {
        if (older->id(i) != newer.id(i)) return Match::changed;
    }
    return Match::ok;
}

// The same member mostly has the same index; only after a change it must be searched.
std::optional<MemberView> counterpart(const SnapshotView& snapshot, std::size_t index,
                                      std::uint32_t member) {
    if (index < snapshot.size()) {
        const MemberView guess = snapshot[index];
        if (guess.member() == member) return guess;
    }
    return snapshot.find(member);
}

}  // namespace

MemberDelta::MemberDelta(const MemberView& newer, const std::optional<MemberView>& older) noexcept
    : newer_(newer), older_(older), match_(compare(newer, older)) {}

std::optional<std::uint64_t> MemberDelta::elapsed_ns() const noexcept {
    if (match_ != Match::ok) return std::nullopt;
    return forward(older_->time_ns(), newer_.time_ns());
}

std::optional<std::uint64_t> MemberDelta::time_enabled() const noexcept {
    if (match_ != Match::ok) return std::nullopt;
    return forward(older_->time_enabled(), newer_.time_enabled());
}

std::optional<std::uint64_t> MemberDelta::time_running() const noexcept {
    if (match_ != Match::ok) return std::nullopt;
    return forward(older_->time_running(), newer_.time_running());
}

std::optional<std::uint64_t> MemberDelta::raw(std::size_t i) const noexcept {
    if (match_ != Match::ok) return std::nullopt;
    return forward(older_->raw(i), newer_.raw(i));
}

std::optional<double> MemberDelta::scaled(std::size_t i) const noexcept {
    const auto count = raw(i);
    const auto enabled = time_enabled();
    const auto running = time_running();
    if (!count || !enabled || !running) return std::nullopt;
    return scale_count(*count, *enabled, *running);
}

MemberDelta Delta::operator[](std::size_t i) const {
    const MemberView newer = newer_[i];
    return {newer, counterpart(older_, i, newer.member())};
}

std::size_t Delta::left() const noexcept {
    std::size_t gone = 0;
    for (const MemberView& old : older_) {
        if (!newer_.find(old.member())) ++gone;
    }
    return gone;
}

std::optional<std::uint64_t> Delta::elapsed_ns() const noexcept {
    if (newer_.begin_ns() < older_.begin_ns()) return std::nullopt;
    return newer_.begin_ns() - older_.begin_ns();
}

}  // namespace metagroup
