// SPDX-License-Identifier: MIT

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <metagroup/snapshot_view.hpp>
#include <stdexcept>

#include "error.hpp"
#include "formatted.hpp"

namespace metagroup {

std::string_view to_string(Status status) noexcept {
    switch (status) {
        case Status::ok:
            return "ok";
        case Status::inactive:
            return "inactive";
        case Status::off:
            return "off";
        case Status::error:
            return "error";
        case Status::offline:
            return "offline";
        case Status::revoked:
            return "revoked";
        case Status::stale:
            return "stale";
        case Status::idle:
            return "idle";
        case Status::spared:
            return "spared";
    }
    return "unknown";
}

std::optional<double> scale_count(std::uint64_t count, std::uint64_t enabled,
                                  std::uint64_t running) noexcept {
    if (running == 0) return std::nullopt;
    // On the PMU all the time: not an estimate, so keep it free of rounding.
    if (enabled == running) return static_cast<double>(count);
    return static_cast<double>(count) * static_cast<double>(enabled) / static_cast<double>(running);
}

std::optional<std::uint64_t> MemberView::time_enabled() const noexcept {
    return payload_ ? payload_->time_enabled() : std::nullopt;
}

std::optional<std::uint64_t> MemberView::time_running() const noexcept {
    return payload_ ? payload_->time_running() : std::nullopt;
}

std::optional<double> MemberView::scaled(std::size_t i) const noexcept {
    const auto count = raw(i);
    const auto enabled = time_enabled();
    const auto running = time_running();
    if (!count || !enabled || !running) return std::nullopt;
    return scale_count(*count, *enabled, *running);
}

// NOLINTBEGIN(bugprone-exception-escape): the index is checked
std::optional<std::uint64_t> MemberView::id(std::size_t i) const noexcept {
    return i < nr() ? payload_->id(i) : std::nullopt;
}

std::optional<std::uint64_t> MemberView::lost(std::size_t i) const noexcept {
    return i < nr() ? payload_->lost(i) : std::nullopt;
}
// NOLINTEND(bugprone-exception-escape)

namespace {

void refuse(const std::string& what) {
    detail::throw_errno(
        EBADMSG, detail::formatted("not a FRAMED read of the device (Format::framed): {}", what));
}

}  // namespace

SnapshotView::SnapshotView(std::span<const std::byte> bytes) {
    if (bytes.size() < sizeof(header_)) {
        refuse(detail::formatted("{} bytes hold no header", bytes.size()));
    }
    std::memcpy(&header_, bytes.data(), sizeof(header_));
    if (header_.size < sizeof(header_) || header_.size > bytes.size()) {
        refuse(detail::formatted("header of {} bytes in {}", header_.size, bytes.size()));
    }
    const std::size_t room = bytes.size() - header_.size;
    if (header_.count > 0 &&
        (header_.stride < sizeof(perf_metagroup_record) || room / header_.stride < header_.count)) {
        refuse(
            detail::formatted("{} records of {} bytes in {}", header_.count, header_.stride, room));
    }
    bytes_ = bytes.first(header_.size + std::size_t{header_.count} * header_.stride);
}

perf_metagroup_record SnapshotView::record(std::size_t i) const noexcept {
    perf_metagroup_record frame{};
    std::memcpy(&frame, bytes_.data() + header_.size + i * header_.stride, sizeof(frame));
    return frame;
}

bool SnapshotView::fits(const perf_metagroup_record& record) const noexcept {
    return record.header >= sizeof(record) && record.header <= header_.stride &&
           record.size <= header_.stride - record.header;
}

MemberView SnapshotView::view(std::size_t i) const noexcept {
    const perf_metagroup_record frame = record(i);
    // Checked here, on a copy of the record: the bytes may be changing.
    if (!fits(frame)) return {frame, {}};
    return {frame, bytes_.subspan(header_.size + i * header_.stride + frame.header, frame.size)};
}

MemberView SnapshotView::operator[](std::size_t i) const {
    if (i >= size()) {
        throw std::out_of_range(
            detail::formatted("record {} of a snapshot of {} records", i, size()));
    }
    return view(i);
}

std::optional<MemberView> SnapshotView::find(std::uint32_t member) const noexcept {
    // Numbers rise in the order of attaching, which is the order of the records.
    std::size_t low = 0;
    std::size_t high = size();
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (record(middle).member < member) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == size() || record(low).member != member) return std::nullopt;
    return view(low);
}

std::uint64_t SnapshotView::skew_ns() const noexcept {
    std::uint64_t oldest = UINT64_MAX;
    std::uint64_t newest = 0;
    for (std::size_t i = 0; i < size(); ++i) {
        const perf_metagroup_record frame = record(i);
        if (frame.size == 0 || frame.status == PERF_METAGROUP_IDLE) continue;
        oldest = std::min<std::uint64_t>(oldest, frame.time);
        newest = std::max<std::uint64_t>(newest, frame.time);
    }
    return newest > oldest ? newest - oldest : 0;
}

}  // namespace metagroup
