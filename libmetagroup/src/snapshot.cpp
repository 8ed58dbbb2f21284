// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cerrno>
#include <metagroup/error.hpp>
#include <metagroup/snapshot.hpp>
#include <stdexcept>

#include "format.hpp"

namespace metagroup {

std::string_view to_string(Status status) noexcept {
    static constexpr std::array<std::string_view, 9> names = {
        "ok", "inactive", "off", "error", "offline", "revoked", "stale", "idle", "skipped"};
    const auto number = static_cast<std::size_t>(status);
    return number < names.size() ? names[number] : "unknown";
}

std::optional<double> MemberView::scaled(std::size_t i) const noexcept {
    const auto count = raw(i);
    const auto enabled = time_enabled();
    const auto running = time_running();
    if (!count || !enabled || !running) return std::nullopt;
    return scale_count(*count, *enabled, *running);
}

// NOLINTNEXTLINE(bugprone-exception-escape): the index is checked
std::optional<std::uint64_t> MemberView::lost(std::size_t i) const noexcept {
    return i < nr() ? payload_->lost(i) : std::nullopt;
}

namespace {

[[noreturn]] void refuse(std::string reason) {
    throw Error(Cause::bad_snapshot, EBADMSG,
                {"not a snapshot", std::move(reason), "set Format::framed before reading"});
}

}  // namespace

SnapshotView::SnapshotView(std::span<const std::byte> bytes) {
    if (bytes.size() < sizeof(header_))
        refuse(detail::format("{} bytes are too few for a header", bytes.size()));
    std::memcpy(&header_, bytes.data(), sizeof(header_));
    if (header_.size < sizeof(header_) || header_.size > bytes.size())
        refuse(detail::format("header of {} bytes in {}", header_.size, bytes.size()));
    if (header_.bytes < header_.size || header_.bytes > bytes.size())
        refuse(detail::format("snapshot of {} bytes in {}", header_.bytes, bytes.size()));
    bytes_ = bytes.first(static_cast<std::size_t>(header_.bytes));
    const std::size_t room = bytes_.size() - header_.size;
    const std::size_t least = header_.stride == 0 ? sizeof(perf_metagroup_record) : header_.stride;
    if (least < sizeof(perf_metagroup_record) || room / least < header_.count)
        refuse(detail::format("{} records of {} bytes in {}", header_.count, least, room));
}

std::size_t SnapshotView::walk(std::size_t offset) const noexcept {
    const std::size_t frame = record_at(offset).frame;
    return frame < sizeof(perf_metagroup_record) || frame > bytes_.size() - offset ? bytes_.size()
                                                                                   : offset + frame;
}

std::size_t SnapshotView::offset(std::size_t i) const noexcept {
    if (header_.stride != 0) return header_.size + i * header_.stride;
    if (i < index_.size()) return static_cast<std::size_t>(index_[i]);
    std::size_t offset = header_.size;
    while (i-- > 0)
        offset = next(offset);
    return offset;
}

void SnapshotView::make_index(std::span<std::uint64_t> index) const noexcept {
    std::size_t offset = header_.size;
    for (std::uint64_t& entry : index) {
        entry = offset;
        offset = next(offset);
    }
}

MemberView SnapshotView::operator[](std::size_t i) const {
    if (i >= size())
        throw std::out_of_range(detail::format("record {} of a snapshot of {} records", i, size()));
    return view_at(offset(i));
}

std::optional<MemberView> SnapshotView::find(std::uint32_t member) const noexcept {
    // Numbers ascend in the order of attaching, which is the order of the records.
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
    return view_at(offset(low));
}

std::uint64_t SnapshotView::skew_ns() const noexcept {
    std::uint64_t oldest = UINT64_MAX;
    std::uint64_t newest = 0;
    for (std::size_t i = 0, at = header_.size; i < size(); ++i, at = next(at)) {
        const perf_metagroup_record frame = record_at(at);
        if (frame.size == 0 || frame.status == PERF_METAGROUP_IDLE) continue;
        oldest = std::min<std::uint64_t>(oldest, frame.time);
        newest = std::max<std::uint64_t>(newest, frame.time);
    }
    return newest > oldest ? newest - oldest : 0;
}

void Snapshot::swap(Snapshot& other) noexcept {
    std::swap(static_cast<SnapshotView&>(*this), static_cast<SnapshotView&>(other));
    std::swap(buffer_, other.buffer_);
    std::swap(index_, other.index_);
}

std::span<std::byte> Snapshot::prepare(std::size_t bytes) {
    SnapshotView& view = *this;
    view = {};
    if (buffer_.size() < bytes) buffer_.resize(bytes);
    return buffer_;
}

void Snapshot::commit(std::size_t bytes) {
    SnapshotView& view = *this;
    view = {};
    if (bytes > buffer_.size())
        throw Error(Cause::bad_snapshot, EBADMSG,
                    {"not a snapshot", detail::format("{} bytes were read into a buffer of {}",
                                                      bytes, buffer_.size())});
    view = SnapshotView(std::span(buffer_).first(bytes));
    index_.resize(wants_index() ? size() : 0);
    make_index(index_);
    use_index(index_);
}

}  // namespace metagroup
