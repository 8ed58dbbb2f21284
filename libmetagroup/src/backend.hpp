// SPDX-License-Identifier: MIT
// What MetaGroup needs of whoever does the reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <metagroup/device.hpp>
#include <metagroup/event_group.hpp>
#include <metagroup/snapshot.hpp>
#include <span>
#include <vector>

namespace metagroup::detail {

class Reader {
  public:
    Reader() = default;
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    Reader(Reader&&) = delete;
    Reader& operator=(Reader&&) = delete;
    virtual ~Reader() = default;

    /// Makes the group a member, the last one so far; may wait for finish() or a full batch.
    virtual void add(EventGroup group) = 0;
    /// No descriptor is left: gives up those that are not needed. False if there are none.
    virtual bool release_descriptors() { return false; }
    /// All groups are there. \return the number of the first member; the others follow.
    virtual std::uint32_t finish() = 0;
    /// Of the members on the CPUs of the mask; no words: of all.
    virtual void read(Snapshot& snapshot, std::span<const std::uint64_t> cpu_mask) = 0;
    /// Reads all; the view is valid until the next call.
    virtual SnapshotView sweep() = 0;
    virtual void enable() = 0;
    virtual void disable() = 0;
    virtual void reset() = 0;
    /// Bytes that a snapshot needs now.
    virtual std::size_t snapshot_size() const noexcept = 0;
};

std::unique_ptr<Reader> make_module_reader(Device device, Mode mode, std::size_t members);
std::unique_ptr<Reader> make_per_fd_reader();

}  // namespace metagroup::detail
