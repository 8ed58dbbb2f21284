// SPDX-License-Identifier: MIT
/// \file
/// Mapping: the module's own snapshot, in memory.
#pragma once

#include <cstddef>
#include <metagroup/detail/unique_fd.hpp>
#include <metagroup/device.hpp>
#include <metagroup/export.hpp>
#include <metagroup/snapshot.hpp>
#include <metagroup/snapshot_view.hpp>
#include <span>

namespace metagroup {

/// The snapshot of a meta-group as the module keeps it, mapped read-only: what the last sweep found
/// is there without a copy. Device::sweep() and reads of any handle of the meta-group renew it.
/// Move-only; keeps the meta-group open. One thread at a time may use it; other threads and
/// processes use Mappings of their own.
class METAGROUP_API Mapping {
  public:
    /// \throws std::system_error; ENODEV if the module is too old for it.
    explicit Mapping(const Device& device);
    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&& other) noexcept;
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping();

    /// The last sweep's records where they lie. For who alone sweeps and changes the meta-group:
    /// the next sweep writes over them, and a change of members may move them. Valid until the
    /// next call here. \throws std::system_error if the snapshot has moved and cannot be mapped.
    [[nodiscard]] SnapshotView view();
    /// A copy of the last sweep's records, whole even while others sweep: copies again if one came
    /// in between. Allocates only to grow. \throws as view().
    void read(Snapshot& snapshot);

  private:
    void map();
    void unmap() noexcept;
    [[nodiscard]] std::size_t size() const noexcept;

    detail::UniqueFd fd_;
    std::span<std::byte> memory_;  // read-only, by its pages
};

}  // namespace metagroup
