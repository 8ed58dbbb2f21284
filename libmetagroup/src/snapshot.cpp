// SPDX-License-Identifier: MIT

#include <cerrno>
#include <metagroup/snapshot.hpp>

#include "error.hpp"
#include "formatted.hpp"

namespace metagroup {

void Snapshot::swap(Snapshot& other) noexcept {
    std::swap(static_cast<SnapshotView&>(*this), static_cast<SnapshotView&>(other));
    std::swap(buffer_, other.buffer_);
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
    if (bytes > buffer_.size()) {
        detail::throw_errno(EBADMSG, detail::formatted("{} bytes were read into a buffer of {}",
                                                       bytes, buffer_.size()));
    }
    view = SnapshotView(std::span(buffer_).first(bytes));
}

}  // namespace metagroup
