// SPDX-License-Identifier: MIT
#include <metagroup/delta.hpp>
#include <stdexcept>

#include "format.hpp"

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

}  // namespace

// A member keeps its place unless members change.
MemberDelta::MemberDelta(const SnapshotView& older, std::size_t older_offset,
                         const SnapshotView& newer, std::size_t offset) noexcept
    : newer_(newer.view_at(offset)), older_(older.view_at(older_offset, newer_.payload_)) {
    if (older_->member() != newer_.member() || older_->bytes_.empty())
        older_ = older.find(newer_.member());
    match_ = compare(newer_, older_);
}

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
    if (i >= size())
        throw std::out_of_range(detail::format("member {} of a difference of {}", i, size()));
    return {older_, i < older_.size() ? older_.offset(i) : SIZE_MAX, newer_, newer_.offset(i)};
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
