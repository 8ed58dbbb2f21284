// SPDX-License-Identifier: MIT
// Writes snapshots as the module does, for backends that read without it.
#pragma once

#include <linux/perf_metagroup.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <metagroup/snapshot.hpp>
#include <span>

#include "system.hpp"

namespace metagroup::detail {

/// The frames of a snapshot, one after another. Does not allocate if the snapshot is large enough.
class Frames {
  public:
    /// Bytes of a frame for a payload of this size.
    static constexpr std::size_t size_for(std::size_t payload) noexcept {
        const std::size_t bytes = sizeof(perf_metagroup_record) + payload;
        return (bytes + cache_line - 1) / cache_line * cache_line;
    }
    /// Bytes of a snapshot with `count` frames.
    static constexpr std::size_t snapshot_size(std::size_t count, std::size_t stride) noexcept {
        return sizeof(perf_metagroup_snapshot) + count * stride;
    }

    /// For at most `count` frames of `stride` bytes, which size_for() returned.
    Frames(Snapshot& snapshot, std::size_t count, std::size_t stride)
        : snapshot_(snapshot),
          bytes_(snapshot.prepare(snapshot_size(count, stride))),
          stride_(stride) {
        header_.size = sizeof(header_);
        header_.stride = static_cast<__u32>(stride);
        header_.layout = 1;
        header_.begin = monotonic_ns();
    }

    /// When the snapshot was begun.
    [[nodiscard]] std::uint64_t begin() const noexcept { return header_.begin; }
    /// Where the payload of the next frame belongs.
    [[nodiscard]] std::span<std::byte> payload() const noexcept {
        return bytes_.subspan(used_, stride_).subspan(sizeof(perf_metagroup_record));
    }
    /// Completes the frame. The caller sets all but the sizes of frame and header.
    void add(perf_metagroup_record record) noexcept {
        record.frame = static_cast<__u32>(stride_);
        record.header = sizeof(record);
        std::memcpy(bytes_.subspan(used_).data(), &record, sizeof(record));
        used_ += stride_;
        ++header_.count;
    }
    /// Completes the snapshot.
    void finish(std::uint64_t sequence) {
        header_.end = monotonic_ns();
        header_.bytes = used_;
        header_.sequence = sequence;
        std::memcpy(bytes_.data(), &header_, sizeof(header_));
        snapshot_.commit(used_);
    }

  private:
    static constexpr std::size_t cache_line = 64;

    Snapshot& snapshot_;
    std::span<std::byte> bytes_;
    std::size_t stride_;
    std::size_t used_ = sizeof(perf_metagroup_snapshot);
    perf_metagroup_snapshot header_{};
};

}  // namespace metagroup::detail
