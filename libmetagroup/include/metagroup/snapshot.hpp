// SPDX-License-Identifier: MIT
/// \file
/// Snapshot: a buffer that holds all records of one sweep.
#pragma once

#include <cstddef>
#include <metagroup/export.hpp>
#include <metagroup/snapshot_view.hpp>
#include <span>
#include <utility>
#include <vector>

namespace metagroup {

/// A buffer for FRAMED reads and the view of what is in it. Meant to be used again and again: it
/// allocates only to grow. Copies are independent.
class METAGROUP_API Snapshot : public SnapshotView {
  public:
    /// An empty snapshot.
    Snapshot() = default;
    Snapshot(const Snapshot& other) : SnapshotView(other), buffer_(other.buffer_) {
        move_to(buffer_.data());
    }
    Snapshot& operator=(const Snapshot& other) {
        if (this != &other) Snapshot(other).swap(*this);
        return *this;
    }
    /// Moving leaves an empty snapshot behind.
    Snapshot(Snapshot&& other) noexcept { swap(other); }
    Snapshot& operator=(Snapshot&& other) noexcept {
        Snapshot(std::move(other)).swap(*this);
        return *this;
    }
    ~Snapshot() = default;
    /// Exchanges contents and buffers; allocates nothing. For taking turns between two snapshots.
    void swap(Snapshot& other) noexcept;

    /// A buffer of at least `bytes` bytes to read into. What the snapshot held is lost. Allocates
    /// if it must grow.
    std::span<std::byte> prepare(std::size_t bytes);
    /// Bytes of the buffer: a sweep that needs no more does not allocate.
    [[nodiscard]] std::size_t capacity() const noexcept { return buffer_.size(); }
    /// Makes the first `bytes` bytes of the buffer, a FRAMED read, the contents. As for a view,
    /// only the header is looked at: there is no second pass over what the kernel wrote. \throws
    /// std::system_error (EBADMSG) saying what is wrong with the header; the snapshot is
    ///         empty then.
    void commit(std::size_t bytes);

  private:
    std::vector<std::byte> buffer_;
};

}  // namespace metagroup
