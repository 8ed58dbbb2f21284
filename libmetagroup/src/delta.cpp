// SPDX-License-Identifier: MIT
#include <metagroup/delta.hpp>
#include <stdexcept>

#include "format.hpp"

namespace metagroup {

MemberDelta::MemberDelta(const SnapshotView& older, std::size_t older_offset,
                         const SnapshotView& newer, std::size_t offset) noexcept
    : newer_(newer.view_at(offset)) {
    // A member keeps its position unless members change.
    const perf_metagroup_record same_place = older.record_at(older_offset);
    if (same_place.member == newer_.record_.member && same_place.header != 0) {
        match_ = compare(same_place, older.payload_at(older_offset, same_place));
    } else if (const auto found = older.find(newer_.record_.member)) {
        match_ = compare(found->record_, found->bytes_);
    }
}

inline Match MemberDelta::compare(const perf_metagroup_record& older,
                                  std::span<const std::byte> bytes) noexcept {
    older_ = bytes.data();
    older_time_ = older.time;
    const auto& newer = newer_.payload_;
    // Format and size match; with ReadFormat::group, the payload itself has the number of events.
    const bool same_layout =
        newer && older.cpu == newer_.record_.cpu && older.header == newer_.record_.header &&
        older.read_format == newer->format_ && bytes.size() == newer_.bytes_.size() &&
        (!newer->has(ReadFormat::group) || Payload::word(older_, 0) == newer->nr_);
    if (!same_layout)
        return newer && Payload::parse(bytes, older.read_format) ? Match::changed
                                                                 : Match::no_payload;
    const auto& layout = newer->layout();
    if (layout.id == 0) return Match::ok;
    const std::size_t end = layout.id + newer->nr_ * layout.stride;
    for (std::size_t word = layout.id; word < end; word += layout.stride) {
        if (Payload::word(older_, word) != newer->word(word)) return Match::changed;
    }
    return Match::ok;
}

std::optional<std::uint64_t> MemberDelta::elapsed_ns() const noexcept {
    if (match_ != Match::ok) return std::nullopt;
    return difference(older_time_, newer_.time_ns());
}

// The two times come from slightly different clocks.
std::optional<std::uint64_t> MemberDelta::disabled_ns() const noexcept {
    const auto elapsed = elapsed_ns();
    const auto enabled = time_enabled();
    if (!elapsed || !enabled) return std::nullopt;
    return *elapsed > *enabled ? *elapsed - *enabled : 0;
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
