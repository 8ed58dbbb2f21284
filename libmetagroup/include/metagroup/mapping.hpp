// SPDX-License-Identifier: MIT
/// \file
/// Mapping: the module's snapshot, mapped into memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <metagroup/detail/unique_fd.hpp>
#include <metagroup/device.hpp>
#include <metagroup/export.hpp>
#include <metagroup/snapshot.hpp>
#include <span>
#include <vector>

namespace metagroup {

/// The module's snapshot of a meta-group, mapped read-only: gives access to the result of the last
/// sweep without a copy. Device::sweep() and reads of any handle of the meta-group write the next
/// snapshot to a second copy, so readers never wait. Move-only; keeps the meta-group open. One
/// thread at a time may use it; other threads and processes use their own Mapping.
class METAGROUP_API Mapping {
  public:
    /// \throws Error; Cause::wrong_module if the module is too old.
    explicit Mapping(const Device& device);
    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&& other) noexcept;
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping();

    /// The records of the last sweep, not copied. The next sweep leaves them intact; the one after
    /// overwrites them: for callers that control the sweeps. Empty after a change of members, until
    /// the next sweep. Valid until the next call of any function of this Mapping. Allocates only to
    /// grow, after a change of members. \throws Error if the snapshot has moved and cannot be
    /// mapped.
    [[nodiscard]] SnapshotView view() &;
    SnapshotView view() && = delete;
    /// Copies the records of the last sweep, consistently even during other sweeps: retries if one
    /// intervened. Allocates only to grow. \throws as view().
    void read(Snapshot& snapshot);

  private:
    void map();
    void unmap() noexcept;
    [[nodiscard]] bool moved() const noexcept;
    [[nodiscard]] std::span<const std::byte> copy(std::uint32_t version) const noexcept;
    void update_index(const SnapshotView& view, std::uint32_t version);

    detail::UniqueFd fd_;
    std::span<std::byte> memory_;       // read-only pages
    std::vector<std::uint64_t> index_;  // of the frames, if they differ in size
    std::uint32_t layout_ = 0;          // the layout that index_ is for; 0 if none
};

}  // namespace metagroup
