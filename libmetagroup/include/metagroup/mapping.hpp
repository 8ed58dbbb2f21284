// SPDX-License-Identifier: MIT
/// \file
/// Mapping: the module's own snapshot, mapped into memory.
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

/// The snapshot of a meta-group as the module keeps it, mapped read-only: the result of the last
/// sweep is there without a copy. Device::sweep() and reads of any handle of the meta-group make a
/// new one, beside it; a reader never waits for them.
/// Move-only; keeps the meta-group open. One thread at a time may use it; other threads and
/// processes use Mappings of their own.
class METAGROUP_API Mapping {
  public:
    /// \throws Error; Cause::wrong_module if the module is too old for it.
    explicit Mapping(const Device& device);
    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&& other) noexcept;
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping();

    /// The last sweep's records, not copied. The next sweep leaves them as they are, the one after
    /// that overwrites them: for callers that control the sweeps. After a change of members it is
    /// empty until the next sweep. Valid until the next call of any function of this Mapping.
    /// Allocates only to grow, if members have changed. \throws Error if the snapshot has moved and
    /// cannot be mapped.
    [[nodiscard]] SnapshotView view() &;
    SnapshotView view() && = delete;
    /// A copy of the last sweep's records, consistent even while others sweep: repeated if a sweep
    /// came in between. Allocates only to grow. \throws as view().
    void read(Snapshot& snapshot);

  private:
    void map();
    void unmap() noexcept;
    [[nodiscard]] bool moved() const noexcept;
    [[nodiscard]] std::span<const std::byte> copy(std::uint32_t version) const noexcept;
    void update_index(const SnapshotView& view, std::uint32_t version);

    detail::UniqueFd fd_;
    std::span<std::byte> memory_;       // read-only pages
    std::vector<std::uint64_t> index_;  // of frames that differ in size
    std::uint32_t layout_ = 0;          // which the index is of; 0 if of none
};

}  // namespace metagroup
